#pragma once

#include <bit>
#include <cstdint>

namespace zerogames::chess {

/// A set of squares; square 8 * rank + file is bit a1 = 0, b1 = 1, ..., h8 = 63.
using Bitboard = std::uint64_t;

inline constexpr Bitboard kFileA = 0x0101010101010101ULL;
inline constexpr Bitboard kFileH = kFileA << 7;
inline constexpr Bitboard kRank1 = 0xFF;
inline constexpr Bitboard kRank2 = kRank1 << 8;
inline constexpr Bitboard kRank3 = kRank1 << 16;
inline constexpr Bitboard kRank5 = kRank1 << 32;
inline constexpr Bitboard kRank6 = kRank1 << 40;
inline constexpr Bitboard kRank7 = kRank1 << 48;
inline constexpr Bitboard kRank8 = kRank1 << 56;
inline constexpr Bitboard kLightSquares = 0x55AA55AA55AA55AAULL;

constexpr Bitboard bit(int square) { return Bitboard{1} << square; }
constexpr int file_of(int square) { return square & 7; }
constexpr int rank_of(int square) { return square >> 3; }
constexpr int square_at(int file, int rank) { return 8 * rank + file; }

constexpr int count(Bitboard squares) { return std::popcount(squares); }
constexpr int lowest(Bitboard squares) { return std::countr_zero(squares); }
constexpr int pop_lowest(Bitboard& squares) {
  const int square = lowest(squares);
  squares &= squares - 1;
  return square;
}

/// Swaps the ranks: the same squares as the other side sees them.
constexpr Bitboard flip(Bitboard squares) { return __builtin_bswap64(squares); }
/// The same for one square.
constexpr int flip_square(int square) { return square ^ 56; }

constexpr Bitboard north(Bitboard squares) { return squares << 8; }
constexpr Bitboard south(Bitboard squares) { return squares >> 8; }
constexpr Bitboard north_west(Bitboard squares) { return (squares & ~kFileA) << 7; }
constexpr Bitboard north_east(Bitboard squares) { return (squares & ~kFileH) << 9; }
constexpr Bitboard south_west(Bitboard squares) { return (squares & ~kFileA) >> 9; }
constexpr Bitboard south_east(Bitboard squares) { return (squares & ~kFileH) >> 7; }

}  // namespace zerogames::chess
