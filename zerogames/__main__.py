"""`python -m zerogames` is `zerogames`."""

import sys

from zerogames.cli import main

sys.exit(main())
