"""Keeping the memory of freed tensors."""

import subprocess
import sys
import textwrap

import pytest
from zerogames_kernels.memory import keep_freed_memory


def test_tensors_after_the_first_few_touch_no_new_pages() -> None:
    code = """
        import ctypes, resource, sys
        import torch
        PR_SET_THP_DISABLE = 41  # Huge pages would leave few faults to count.
        ctypes.CDLL(None).prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)
        from zerogames_kernels.memory import keep_freed_memory
        if not keep_freed_memory():
            sys.exit(77)
        def faults():
            before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
            torch.ones(10_000_000)
            return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
        counts = [faults() for _ in range(30)]
        assert counts[0] > 100 > max(counts[20:]), counts
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode == 77:
        pytest.skip("the C library is not glibc")
    assert result.returncode == 0, result.stderr


def test_other_systems_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not keep_freed_memory()
