import numpy as np
import pytest
from zerogames_kernels import Pattern, random_pattern, square_pattern
from zerogames_kernels.native import LEVELS, cpu_level, limit_level


def test_taps_are_ordered_as_the_mask_is_read() -> None:
    pattern = Pattern("x", ((1, 0), (-2, 1), (0, 0), (-2, -1)))
    assert pattern.offsets == ((-2, -1), (-2, 1), (0, 0), (1, 0))
    rows, columns = np.nonzero(pattern.mask)
    assert list(zip(rows - 2, columns - 2, strict=True)) == list(pattern.offsets)


def test_a_mask_reads_back() -> None:
    rook = Pattern.from_mask("rook", "00100 00100 11111 00100 00100")
    assert len(rook.offsets) == 9
    assert rook.mask.sum() == 9


@pytest.mark.parametrize("mask", ["", "0 0 0 0 0", "00000 00000 00200 00000 00000", "1" * 25])
def test_a_bad_mask_is_refused(mask: str) -> None:
    with pytest.raises(ValueError, match="mask"):
        Pattern.from_mask("bad", mask)


@pytest.mark.parametrize("offsets", [(), ((0, 0), (0, 0)), ((3, 0),)])
def test_bad_offsets_are_refused(offsets: tuple[tuple[int, int], ...]) -> None:
    with pytest.raises(ValueError, match="bad"):
        Pattern("bad", offsets)


def test_random_patterns_hold_the_centre_and_repeat_for_a_seed() -> None:
    assert random_pattern(5) == random_pattern(5)
    assert len({random_pattern(seed).offsets for seed in range(20)}) > 15
    for seed in range(20):
        assert (0, 0) in random_pattern(seed).offsets
        assert len(random_pattern(seed).offsets) == 9


def test_squares() -> None:
    assert len(square_pattern(3).offsets) == 9
    assert square_pattern(5).mask.all()
    with pytest.raises(ValueError, match="size"):
        square_pattern(4)


def test_the_level_can_only_be_lowered_to_a_known_one() -> None:
    assert cpu_level() in LEVELS
    with pytest.raises(ValueError, match="known"):
        limit_level("v9")
