"""Fixtures and rules for all tests of the project."""

import re
from collections.abc import Generator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

# Machines are noisy: no time limits. Every run tries the same examples, so a failure stays.
hypothesis.settings.register_profile("zerogames", deadline=None, derandomize=True)
hypothesis.settings.load_profile("zerogames")

ROOT = Path(__file__).resolve().parent
ALLOWED_SKIPS = ROOT / "tests" / "allowed_skips.txt"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--strict-skips`."""
    parser.addoption(
        "--strict-skips",
        action="store_true",
        help=f"fail when a test is skipped for a reason that {ALLOWED_SKIPS.name} does not list",
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    """Turn a skip that is not allowed into a failure."""
    report = yield
    if (
        report.skipped
        and item.config.getoption("--strict-skips")
        and not hasattr(report, "wasxfail")
    ):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if not any(allowed.search(reason) for allowed in _allowed_skips()):
            report.outcome = "failed"
            report.longrepr = f"{item.nodeid}: not in {ALLOWED_SKIPS.name}: {reason}"
    return report


def _allowed_skips() -> list[re.Pattern[str]]:
    lines = ALLOWED_SKIPS.read_text().splitlines()
    return [re.compile(line) for line in lines if line.strip() and not line.startswith("#")]


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with real data files beside the checkout; skips the test where there is none."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("no ../shared/data: real data files are not here")
    return folder
