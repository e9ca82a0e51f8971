#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "zerogames/error.hpp"
#include "zerogames/game.hpp"

namespace zerogames {

/// The root actions that a search may choose from: all legal ones unless restricted.
class AllowedActions {
 public:
  /// `actions` must be legal in `root`; none: all.
  template <Game G>
  void restrict(const G& root, std::span<const Action> actions) {
    is_allowed_.clear();
    if (actions.empty()) return;
    const int size = root.action_size();
    is_allowed_.assign(static_cast<std::size_t>(size), 0);
    for (const Action action : actions) {
      require_legal(root, action);
      is_allowed_[static_cast<std::size_t>(action)] = 1;
    }
  }

  bool all() const { return is_allowed_.empty(); }
  bool contains(Action action) const {
    return all() || is_allowed_[static_cast<std::size_t>(action)] != 0;
  }
  /// How many of `num_legal` legal actions.
  std::uint32_t count(std::uint32_t num_legal) const {
    return all() ? num_legal : static_cast<std::uint32_t>(std::ranges::count(is_allowed_, 1));
  }

  template <Game G>
  static void require_legal(const G& state, Action action) {
    if (action < 0 || action >= state.action_size() || !state.is_legal(action)) {
      throw Error("action " + std::to_string(action) + " is not legal here");
    }
  }

 private:
  std::vector<std::uint8_t> is_allowed_;  ///< by action; empty: all
};

}  // namespace zerogames
