#pragma once

#include <algorithm>
#include <span>
#include <string>

#include "attacks.hpp"
#include "zerogames/error.hpp"
#include "zerogames/planes.hpp"

namespace zerogames::shogi {

/// `board`: what stands where, seen by the side to move, whose pieces move towards row 0.
struct Encoding {};

inline constexpr int kNumKinds = 14;
inline constexpr int kBitPlanes = 2 * kNumKinds + 4;
inline constexpr int kConstantPlanes = 2 * kNumHandKinds + 4;

inline Encoding parse_encoding(std::string_view text) {
  if (text == "board") return {};
  throw Error("shogi has no encoding '" + std::string(text.substr(0, 60)) + "'; known: board");
}

/// Own pieces of 14 kinds (pawn, lance, knight, silver, gold, bishop, rook, king, then promoted
/// pawn, lance, knight, silver, bishop, rook), theirs; the squares that we and they attack; the
/// files that hold a pawn of ours and of theirs. [kBitPlanes][2 words]
inline void write_bits(const Board& board, std::uint64_t* out) {
  const int side = board.side;
  std::array<Bitboard, kBitPlanes> planes{};
  for (Bitboard pieces = board.occupied(); pieces;) {
    const int square = pop_lowest(pieces);
    const Piece piece = board.squares[square];
    const int kind = kind_of(piece), order = kind < kHorse ? kind : kind - 1;
    planes[order + (side_of(piece) == side ? 0 : kNumKinds)] |= bit(square);
  }
  for (const int owner : {side, other(side)}) {
    Bitboard* const pair = planes.data() + 2 * kNumKinds + (owner == side ? 0 : 1);
    pair[0] = attacked_by(board, owner, board.empty());
    pair[2] = columns_of(board.movers[kPawns] & board.sides[owner]);
  }
  for (const Bitboard plane : planes) {
    const Bitboard seen = side == kBlack ? plane : turned_set(plane);
    *out++ = low_half(seen);
    *out++ = high_half(seen);
  }
}

/// Our pieces in hand by kind, theirs; earlier occurrences of the position; in check; White to
/// move; one.
inline void write_constants(const Board& board, int repetitions, bool in_check,
                            std::span<float, kConstantPlanes> out) {
  const auto& ours = board.hands[board.side];
  const auto& theirs = board.hands[other(board.side)];
  std::copy(ours.begin(), ours.end(), out.begin());
  std::copy(theirs.begin(), theirs.end(), out.begin() + kNumHandKinds);
  float* const rest = out.data() + 2 * kNumHandKinds;
  rest[0] = static_cast<float>(repetitions);
  rest[1] = in_check ? 1.0F : 0.0F;
  rest[2] = board.side == kWhite ? 1.0F : 0.0F;
  rest[3] = 1.0F;
}

}  // namespace zerogames::shogi
