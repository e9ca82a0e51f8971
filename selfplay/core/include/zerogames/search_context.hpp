#pragma once

#include <cstdint>
#include <vector>

#include "zerogames/error.hpp"
#include "zerogames/evaluation_cache.hpp"
#include "zerogames/game.hpp"
#include "zerogames/search_settings.hpp"
#include "zerogames/select_puct.hpp"

namespace zerogames {

/// What several searches of one thread share.
struct SearchContext {
  explicit SearchContext(const SearchSettings& given)
      : settings(given),
        cache(static_cast<std::size_t>(given.cache_mebibytes) << 20),
        exploration(given) {
    settings.validate();
  }

  const SearchSettings settings;
  EvaluationCache cache;
  std::uint64_t net_version = 0;
  const ExplorationTable exploration;
};

struct SearchBudget {
  int simulations = 0;
  /// Root noise, root policy temperature, forced playouts: on for moves that are learnt from.
  bool explore = true;
  /// Lets the setting `early_stop` end the search when the best move cannot change any more. Off
  /// where the other moves' values are wanted too.
  bool may_stop_early = true;
  /// Root actions to search and choose from; empty: all.
  std::vector<Action> allowed = {};
};

inline void require_batch_size(std::size_t max_batch) {
  if (max_batch < 1 || max_batch > 16384) throw Error("max_batch must be 1 to 16384 leaves");
}

}  // namespace zerogames
