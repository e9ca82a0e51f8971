import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from zerogames_kernels import Pattern, group_offsets, group_sizes, random_pattern, square_pattern
from zerogames_kernels.groups import flatten_offsets


@given(st.integers(1, 700), st.integers(1, 9))
def test_groups_are_adjacent_and_even_with_the_extra_first(channels: int, groups: int) -> None:
    if channels < groups:
        with pytest.raises(ValueError, match="cannot be split"):
            group_sizes(channels, groups)
        return
    sizes = group_sizes(channels, groups)
    assert sum(sizes) == channels
    assert max(sizes) - min(sizes) <= 1
    assert sizes == sorted(sizes, reverse=True)


def test_patterns_of_one_layer_need_the_same_number_of_taps() -> None:
    with pytest.raises(ValueError, match="same number of taps, got 3x3 9, 5x5 25"):
        group_offsets([square_pattern(3), square_pattern(5)])
    with pytest.raises(ValueError, match="at least one pattern"):
        group_offsets([])
    with pytest.raises(ValueError, match="same number of taps, got 9, 1"):
        flatten_offsets([square_pattern(3).offsets, [(0, 0)]])
    with pytest.raises(ValueError, match="outside the 5x5 window"):
        flatten_offsets([[(0, 3)]])
    with pytest.raises(ValueError, match="repeats a tap"):
        flatten_offsets([[(0, 1), (0, 1)]])


def test_taps_run_top_to_bottom_then_left_to_right() -> None:
    knight = Pattern.from_mask("knight", "01010 10001 00100 10001 01010")
    assert group_offsets([knight])[0][:4] == [(-2, -1), (-2, 1), (-1, -2), (-1, 2)]
    assert (0, 0) in random_pattern(3).offsets


def test_importing_the_package_does_not_import_torch() -> None:
    code = "import sys, zerogames_kernels; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
