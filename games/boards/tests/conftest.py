import sys
from pathlib import Path

# The tests import referee.py beside them.
sys.path.insert(0, str(Path(__file__).parent))
