#pragma once

#include "board.hpp"

namespace zerogames::go {

/// Area by Tromp and Taylor: every stone where it stands, and the empty points from which only
/// stones of that colour are reached.
struct Area {
  Points owned[2];

  int lead() const { return owned[kBlack].count() - owned[kWhite].count(); }
};

/// The empty points connected to a stone of `player` through empty points.
inline Points reached(const Board& board, Colour player) {
  const Points empty = board.empty();
  Points all = board.geometry().around(board.stones(player)) & empty;
  for (Points front = all; front.any();) {
    front = (board.geometry().around(front) & empty) - all;
    all = all | front;
  }
  return all;
}

inline Area area(const Board& board) {
  const Points black = reached(board, kBlack), white = reached(board, kWhite);
  return {{board.stones(kBlack) | (black - white), board.stones(kWhite) | (white - black)}};
}

}  // namespace zerogames::go
