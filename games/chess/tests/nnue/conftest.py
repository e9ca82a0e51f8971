import sys
from pathlib import Path

# The tests share positions; their folder is not a package.
sys.path.insert(0, str(Path(__file__).parent))
