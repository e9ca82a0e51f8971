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

/// A connected set of points without a stone of a player, and the player's stones beside it.
struct Region {
  Points points;
  Points around;
};

/// The connected part of `within` that its first point belongs to; `within` is not empty.
inline Points first_component(const Geometry& geometry, const Points& within) {
  Points component;
  bool started = false;
  within.for_each([&](Point point) {
    if (!std::exchange(started, true)) component.set(point);
  });
  for (Points front = component; front.any();) {
    front = (geometry.around(front) & within) - component;
    component = component | front;
  }
  return component;
}

inline std::vector<Region> regions_without(const Board& board, Colour player) {
  const Geometry& geometry = board.geometry();
  const Points own = board.stones(player);
  std::vector<Region> regions;
  for (Points rest = geometry.board - own; rest.any();) {
    const Points region = first_component(geometry, rest);
    rest = rest - region;
    regions.push_back({region, geometry.around(region) & own});
  }
  return regions;
}

/// The stones of `player` that cannot be captured even if the opponent alone moves, after Benson
/// ("Life in the game of Go", 1976).
///
/// `regions` are those of `regions_without`. One of them is vital to a chain if the chain touches
/// all its points of `vital`: the empty points, or all points where the opponent could kill himself
/// to go on. Chains with fewer than two vital regions drop out, then regions that touch such a
/// chain, until nothing changes.
inline Points pass_alive(const Board& board, Colour player, const std::vector<Region>& regions,
                         const Points& vital) {
  const Geometry& geometry = board.geometry();
  Points alive = board.stones(player);
  for (bool changed = true; std::exchange(changed, false);) {
    board.heads(player).for_each([&](Point head) {
      if (!alive.test(head)) return;
      Points chain;
      board.for_each_stone(head, [&](Point stone) { chain.set(stone); });
      const Points beside = geometry.around(chain);
      int number = 0;
      for (const Region& region : regions) {
        const bool touches = (region.around & chain).any();
        const bool enclosed = !(region.around - alive).any();
        if (touches && enclosed && !((region.points & vital) - beside).any()) ++number;
      }
      if (number < 2) {
        alive = alive - chain;
        changed = true;
      }
    });
  }
  return alive;
}

inline Points unconditionally_alive(const Board& board, Colour player) {
  return pass_alive(board, player, regions_without(board, player), board.empty());
}

}  // namespace zerogames::go
