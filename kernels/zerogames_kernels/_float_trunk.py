"""The compiled float32 trunk, in the variant this CPU runs best."""

import sys

from zerogames_kernels.native import load_variant

sys.modules[__name__] = load_variant(__name__)
