#pragma once

#include <utility>
#include <vector>

#include "board.hpp"

namespace zerogames::go {

/// Whether an empty point is a true eye of `player`: stones of that colour on all sides and on
/// enough diagonals that the opponent cannot break it (all of them at the edge, all but one
/// inside).
inline bool is_own_eye(const Board& board, Point point, Colour player) {
  for (const Point next : board.neighbours(point)) {
    const Colour there = board.colour(next);
    if (there != player && there != kEdge) return false;
  }
  const int size = board.size(), row = point / size, column = point % size;
  int enemies = 0;
  bool at_edge = false;
  for (const auto& [up, right] : {std::pair(-1, -1), {-1, 1}, {1, -1}, {1, 1}}) {
    const int r = row + up, c = column + right;
    if (r < 0 || r >= size || c < 0 || c >= size) {
      at_edge = true;
    } else if (board.colour(static_cast<Point>(r * size + c)) == opponent(player)) {
      ++enemies;
    }
  }
  return enemies + (at_edge ? 1 : 0) < 2;
}

/// The stones of `player` that cannot be captured even if the opponent alone moves, after Benson
/// ("Life in the game of Go", 1976).
///
/// A region is a connected set of points without a stone of the player; it is vital to a chain if
/// all its empty points are liberties of the chain. Chains with fewer than two vital regions drop
/// out, then regions that touch such a chain, until nothing changes.
inline Points unconditionally_alive(const Board& board, Colour player) {
  struct Region {
    Points points;
    Points around;  ///< the player's stones beside it
  };
  const Geometry& geometry = board.geometry();
  const Points own = board.stones(player), empty = board.empty();
  std::vector<Region> regions;
  for (Points rest = geometry.board - own; rest.any();) {
    Points region;
    bool started = false;
    rest.for_each([&](Point point) {
      if (!std::exchange(started, true)) region.set(point);
    });
    for (Points front = region; front.any();) {
      front = (geometry.around(front) & rest) - region;
      region = region | front;
    }
    rest = rest - region;
    regions.push_back({region, geometry.around(region) & own});
  }
  Points alive = own;
  for (bool changed = true; std::exchange(changed, false);) {
    board.heads(player).for_each([&](Point head) {
      if (!alive.test(head)) return;
      Points chain;
      board.for_each_stone(head, [&](Point stone) { chain.set(stone); });
      const Points liberties = geometry.around(chain) & empty;
      int vital = 0;
      for (const Region& region : regions) {
        const bool touches = (region.around & chain).any();
        const bool enclosed = !(region.around - alive).any();
        if (touches && enclosed && !((region.points & empty) - liberties).any()) ++vital;
      }
      if (vital < 2) {
        alive = alive - chain;
        changed = true;
      }
    });
  }
  return alive;
}

}  // namespace zerogames::go
