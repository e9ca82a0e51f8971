#pragma once

// Positions that come back: a repetition inside the search may be counted as a draw at once.

#include <concepts>

#include "zerogames/backup.hpp"
#include "zerogames/game.hpp"
#include "zerogames/solver.hpp"
#include "zerogames/tree.hpp"

namespace zerogames {

/// A game that knows how long ago its position occurred before.
template <class G>
concept RepeatingGame = Game<G> && requires(const G& state) {
  /// Plies back to the last occurrence of this position; 0 if it is new.
  { state.plies_since_repetition() } -> std::same_as<int>;
};

/// A repetition counts if its first occurrence lies inside the search too.
inline bool inside_search(int cycle, int depth) {
  return cycle > 0 && depth >= 4 && cycle <= depth;
}

/// After the root has moved on: draws by repetition whose first occurrence dropped out of the
/// search become unvisited again, and all that followed from them is undone. Returns whether `id`
/// changed.
inline bool forget_repetitions(Tree& tree, NodeId id, int depth = 0) {
  Node& node = tree[id];
  if (node.cycle > 0) {
    if (inside_search(node.cycle, depth)) return false;
    const Node old = node;
    node = Node();
    node.prior = old.prior;
    node.action = old.action;
    node.side = old.side;
    return true;
  }
  bool changed = false;
  for (const NodeId child : tree.children(node)) {
    changed = forget_repetitions(tree, child, depth + 1) || changed;
  }
  if (!changed) return false;
  const Bounds bounds = bounds_from_children(tree, node);
  node.low = bounds.low;
  node.high = bounds.high;
  if (!node.proven()) recompute(tree, node);
  return true;
}

}  // namespace zerogames
