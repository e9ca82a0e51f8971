#pragma once

// When a search may end before its budget is used up.

#include <algorithm>
#include <cstdint>
#include <utility>

#include "zerogames/allowed_actions.hpp"
#include "zerogames/tree.hpp"

namespace zerogames {

/// The result is certain for the actions that the search may choose from.
inline bool root_is_proven(const Tree& tree, const AllowedActions& allowed) {
  const Node& root = tree[tree.root()];
  if (allowed.all()) return root.proven();
  std::uint32_t num_proven = 0;
  for (const NodeId id : tree.children(root)) {
    const Node& child = tree[id];
    if (!allowed.contains(child.action)) continue;
    if (bounds_for(root, child).low == 1) return true;
    num_proven += child.proven();
  }
  return num_proven == allowed.count(root.num_edges);
}

/// The most visited move cannot be overtaken with `visits_left` more, or there is nothing to
/// choose.
inline bool best_move_is_settled(const Tree& tree, const AllowedActions& allowed,
                                 std::uint32_t visits_left) {
  const Node& root = tree[tree.root()];
  std::uint32_t first = 0, second = 0;
  int open = static_cast<int>(allowed.count(root.num_edges));
  for (const NodeId id : tree.children(root)) {
    const Node& child = tree[id];
    if (!allowed.contains(child.action)) continue;
    open -= bounds_for(root, child).high == -1;
    if (child.visits > first) {
      second = std::exchange(first, child.visits);
    } else {
      second = std::max(second, child.visits);
    }
  }
  return open <= 1 || first - second > visits_left;
}

}  // namespace zerogames
