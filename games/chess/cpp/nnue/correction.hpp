#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "features.hpp"

namespace zerogames::chess::nnue {

/// How far the network was from what searches found, by the pawns of the position: it errs alike
/// wherever they stand alike.
class Correction {
 public:
  void clear() { values_ = {}; }

  /// To be added to the network's evaluation.
  int value(const Board& board) const { return values_[index(board)] / kGrain; }

  /// Learns that a search of that depth found a score so far from the network's.
  void learn(const Board& board, int difference, int depth) {
    std::int32_t& value = values_[index(board)];
    const int weight = std::min(depth + 1, 16);
    const int aim = std::clamp(difference, -kLimit, kLimit) * kGrain;
    value += (aim - value) * weight / 256;
  }

 private:
  static constexpr int kGrain = 256, kLimit = 400, kBits = 14;

  /// The board is seen by the side to move, so this tells the sides apart as well.
  static std::size_t index(const Board& board) {
    const std::uint64_t ours = board.ours & board.pawns, theirs = board.theirs & board.pawns;
    const std::uint64_t mixed =
        (ours * 0x9E37'79B9'7F4A'7C15 ^ std::rotl(theirs, 29)) * 0xD6E8'FEB8'6659'FD93;
    return mixed >> (64 - kBits);
  }

  std::array<std::int32_t, 1 << kBits> values_{};
};

}  // namespace zerogames::chess::nnue
