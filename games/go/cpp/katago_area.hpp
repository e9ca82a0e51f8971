#pragma once

#include "life.hpp"
#include "scoring.hpp"

namespace zerogames::go {

/// The area as KataGo's nets are shown it: stones as they stand, except that those inside the
/// opponent's pass-alive territory are the opponent's.
///
/// `suicide` says whether a region is vital to a chain only if the chain touches all its points,
/// stones of the opponent included.
inline Area katago_area(const Board& board, bool suicide) {
  Area area;
  const Geometry& geometry = board.geometry();
  const auto give = [&](const Points& points, Colour player) {
    area.owned[player] = area.owned[player] | points;
    area.owned[opponent(player)] = area.owned[opponent(player)] - points;
  };
  for (const Colour player : {kBlack, kWhite}) {
    const Points own = board.stones(player), enemies = board.stones(opponent(player));
    if (!own.any()) continue;
    const std::vector<Region> regions = regions_without(board, player);
    const Points alive =
        pass_alive(board, player, regions, suicide ? geometry.board : board.empty());
    give(alive, player);
    const Points beside = geometry.around(own);
    for (const Region& region : regions) {
      const bool has_enemies = (region.points & enemies).any();
      const bool enclosed = !(region.around - alive).any();
      const int num_inner = (region.points - beside).count();
      if (enclosed && (num_inner <= 1 || !has_enemies)) {
        give(region.points, player);
      } else if (!has_enemies) {
        give(region.points - area.owned[kBlack] - area.owned[kWhite], player);
      }
    }
  }
  const Points marked = area.owned[kBlack] | area.owned[kWhite];
  for (const Colour player : {kBlack, kWhite}) give(board.stones(player) - marked, player);
  return area;
}

}  // namespace zerogames::go
