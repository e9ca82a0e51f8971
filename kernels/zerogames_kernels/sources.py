"""The place of the sources that are compiled where they are used: in a checkout or the package."""

from pathlib import Path


def source_folder(name: str) -> Path:
    """Return the folder `cuda` or `tensorrt`: the checkout's, else the installed copy."""
    package = Path(__file__).parent
    for folder in (package.parent / name, package / name):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"the sources in {package / name} are missing; reinstall zerogames")
