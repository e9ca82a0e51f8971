"""The compiled games, in the variant this CPU runs best."""

import sys

from zerogames.native import load_variant

sys.modules[__name__] = load_variant(__name__)
