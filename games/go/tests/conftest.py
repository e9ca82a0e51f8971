import sys
from pathlib import Path

# The plain reference programs beside the tests are imported by name.
sys.path.insert(0, str(Path(__file__).parent))
