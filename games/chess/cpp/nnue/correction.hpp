#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "features.hpp"

namespace zerogames::chess::nnue {

/// Correction history: the mean difference between search scores and the network's evaluation, by
/// pawn structure, because the network's error is similar in positions with the same pawns.
class CorrectionHistory {
 public:
  void clear() { values_ = {}; }

  /// The correction to add to the network's evaluation.
  int value(const Board& board) const { return values_[index(board)] / kGrain; }

  /// Updates the mean with `difference`, search score minus evaluation, of a search of `depth`.
  void learn(const Board& board, int difference, int depth) {
    std::int32_t& value = values_[index(board)];
    const int weight = std::min(depth + 1, 16);
    const int aim = std::clamp(difference, -kLimit, kLimit) * kGrain;
    value += (aim - value) * weight / 256;
  }

 private:
  static constexpr int kGrain = 256, kLimit = 400, kBits = 14;

  /// The board is in the view of the side to move, so the index depends on that side too.
  static std::size_t index(const Board& board) {
    const std::uint64_t ours = board.ours & board.pawns, theirs = board.theirs & board.pawns;
    const std::uint64_t mixed =
        (ours * 0x9E37'79B9'7F4A'7C15 ^ std::rotl(theirs, 29)) * 0xD6E8'FEB8'6659'FD93;
    return mixed >> (64 - kBits);
  }

  std::array<std::int32_t, 1 << kBits> values_{};
};

}  // namespace zerogames::chess::nnue
