#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace zerogames::shogi {

/// A set of squares. Square 9 * row + column is the bit; row 0 is rank a, column 0 is file 9, as a
/// diagram shows the board from Black's side: 9a = 0, 1a = 8, 9i = 72, 1i = 80.
using Bitboard = unsigned __int128;

inline constexpr int kSide = 9;
inline constexpr int kSquares = 81;

constexpr Bitboard bit(int square) { return Bitboard{1} << square; }
constexpr int row_of(int square) { return square / kSide; }
constexpr int column_of(int square) { return square % kSide; }
/// The same square as the other side sees it.
constexpr int turned(int square) { return kSquares - 1 - square; }

constexpr std::uint64_t low_half(Bitboard squares) { return static_cast<std::uint64_t>(squares); }
constexpr std::uint64_t high_half(Bitboard squares) {
  return static_cast<std::uint64_t>(squares >> 64);
}
constexpr int count(Bitboard squares) {
  return std::popcount(low_half(squares)) + std::popcount(high_half(squares));
}
/// Requires a square, as do the next three.
constexpr int lowest(Bitboard squares) {
  const std::uint64_t low = low_half(squares);
  return low ? std::countr_zero(low) : 64 + std::countr_zero(high_half(squares));
}
constexpr int highest(Bitboard squares) {
  const std::uint64_t high = high_half(squares);
  return high ? 127 - std::countl_zero(high) : 63 - std::countl_zero(low_half(squares));
}
constexpr int pop_lowest(Bitboard& squares) {
  const int square = lowest(squares);
  squares &= squares - 1;
  return square;
}
constexpr int pop_highest(Bitboard& squares) {
  const int square = highest(squares);
  squares ^= bit(square);
  return square;
}

inline constexpr Bitboard kBoard = (Bitboard{1} << kSquares) - 1;
inline constexpr Bitboard kTopRow = 0x1FF;
/// One square of each row: column 0.
inline constexpr Bitboard kFirstColumn = [] {
  Bitboard column = 0;
  for (int row = 0; row < kSide; ++row) column |= bit(kSide * row);
  return column;
}();

/// The whole columns of the squares.
constexpr Bitboard columns_of(Bitboard squares) {
  squares |= squares >> 9;
  squares |= squares >> 18;
  squares |= (squares >> 36) | (squares >> 72);
  // Row 0 now says which columns; the multiplication copies it to all rows without carries.
  return (squares & kTopRow) * kFirstColumn;
}

/// The rows from `first` on, `number` of them.
constexpr Bitboard rows(int first, int number) {
  return ((Bitboard{1} << (kSide * number)) - 1) << (kSide * first);
}

/// The ways a piece moves, as Black sees them; a knight's jumps are directions too. The first ten
/// are those of Black's pieces, the last two the jumps of White's knights.
enum Direction : std::uint8_t {
  kUp,
  kUpLeft,
  kUpRight,
  kLeft,
  kRight,
  kDown,
  kDownLeft,
  kDownRight,
  kJumpLeft,
  kJumpRight,
  kBackJumpRight,
  kBackJumpLeft,
};
inline constexpr int kNumDirections = 12;
/// Directions of steps and lines.
inline constexpr int kNumLines = 8;
/// Directions in which a side's pieces move.
inline constexpr int kNumWays = 10;

inline constexpr std::array<int, kNumDirections> kRowStep = {-1, -1, -1, 0,  0, 1,
                                                             1,  1,  -2, -2, 2, 2};
inline constexpr std::array<int, kNumDirections> kColumnStep = {0,  -1, 1,  -1, 1, 0,
                                                                -1, 1,  -1, 1,  1, -1};
inline constexpr std::array<int, kNumDirections> kOpposite = {
    kDown,    kDownRight, kDownLeft,      kRight,        kLeft,     kUp,
    kUpRight, kUpLeft,    kBackJumpRight, kBackJumpLeft, kJumpLeft, kJumpRight};
/// Opposite directions share an axis.
inline constexpr std::array<int, kNumLines> kAxis = {0, 1, 2, 3, 3, 0, 2, 1};

constexpr int step_of(int direction) {
  return kSide * kRowStep[direction] + kColumnStep[direction];
}

/// Squares from which a step in the direction stays on the board.
inline constexpr std::array<Bitboard, kNumDirections> kCanStep = [] {
  std::array<Bitboard, kNumDirections> squares{};
  for (int direction = 0; direction < kNumDirections; ++direction) {
    for (int square = 0; square < kSquares; ++square) {
      const int row = row_of(square) + kRowStep[direction];
      const int column = column_of(square) + kColumnStep[direction];
      if (row >= 0 && row < kSide && column >= 0 && column < kSide) {
        squares[direction] |= bit(square);
      }
    }
  }
  return squares;
}();

namespace detail {

/// `times` steps at once, without looking at the edges.
template <int direction, int times>
constexpr Bitboard move_bits(Bitboard squares) {
  constexpr int step = times * step_of(direction);
  if constexpr (step < 0) {
    return squares >> -step;
  } else {
    return squares << step;
  }
}

}  // namespace detail

/// The squares one step further.
template <int direction>
constexpr Bitboard shift(Bitboard squares) {
  return detail::move_bits<direction, 1>(squares & kCanStep[direction]);
}

/// What sliders see in one direction, up to and including the first square that is not empty.
template <int direction>
constexpr Bitboard slide(Bitboard sliders, Bitboard empty) {
  // Steps of 1, 2 and 4 squares over squares that are empty and not behind an edge.
  Bitboard open = empty & detail::move_bits<direction, 1>(kCanStep[direction]);
  sliders |= open & detail::move_bits<direction, 1>(sliders);
  open &= detail::move_bits<direction, 1>(open);
  sliders |= open & detail::move_bits<direction, 2>(sliders);
  open &= detail::move_bits<direction, 2>(open);
  sliders |= open & detail::move_bits<direction, 4>(sliders);
  return shift<direction>(sliders);
}

/// All squares in one direction on the empty board.
inline constexpr std::array<std::array<Bitboard, kSquares>, kNumLines> kRays = [] {
  std::array<std::array<Bitboard, kSquares>, kNumLines> rays{};
  for (int direction = 0; direction < kNumLines; ++direction) {
    for (int square = 0; square < kSquares; ++square) {
      for (int at = square; kCanStep[direction] & bit(at);) {
        at += step_of(direction);
        rays[direction][square] |= bit(at);
      }
    }
  }
  return rays;
}();

/// The first of some squares on a ray in `direction`. Requires one.
constexpr int nearest(Bitboard squares, int direction) {
  return step_of(direction) < 0 ? highest(squares) : lowest(squares);
}

/// The set turned round, as the other side sees it.
constexpr Bitboard turned_set(Bitboard squares) {
  const auto reverse = [](std::uint64_t word) {
    word = ((word >> 1) & 0x5555555555555555ULL) | ((word & 0x5555555555555555ULL) << 1);
    word = ((word >> 2) & 0x3333333333333333ULL) | ((word & 0x3333333333333333ULL) << 2);
    word = ((word >> 4) & 0x0F0F0F0F0F0F0F0FULL) | ((word & 0x0F0F0F0F0F0F0F0FULL) << 4);
    return __builtin_bswap64(word);
  };
  const Bitboard all =
      Bitboard{reverse(low_half(squares))} << 64 | Bitboard{reverse(high_half(squares))};
  return all >> (128 - kSquares);
}

}  // namespace zerogames::shogi
