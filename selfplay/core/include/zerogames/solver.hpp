#pragma once

// Proven results: bounds of the true value climb from terminal positions towards the root.

#include <algorithm>
#include <cstdint>
#include <span>

#include "zerogames/tree.hpp"

namespace zerogames {

/// The bounds that follow from the children; a legal move without a child may be worth anything.
inline Bounds bounds_from_children(const Tree& tree, const Node& node) {
  Bounds bounds{-1, -1};
  if (node.num_children < node.num_edges) bounds.high = 1;
  for (const NodeId id : tree.children(node)) {
    const Bounds child = bounds_for(node, tree[id]);
    bounds.low = std::max(bounds.low, child.low);
    bounds.high = std::max(bounds.high, child.high);
  }
  return bounds;
}

/// Turns to the proven end: the shortest way to a win or draw, the longest to a loss.
inline float proven_length(const Tree& tree, const Node& node) {
  float length = 0;
  bool first = true;
  for (const NodeId id : tree.children(node)) {
    const Node& child = tree[id];
    if (!child.proven() || bounds_for(node, child).low != node.low) continue;
    const float turns = moves_left_for(node, child);
    const bool better = node.low == -1 ? turns > length : turns < length;
    if (first || better) length = turns;
    first = false;
  }
  return length;
}

/// Call after the visit of a newly proven last node of `path` was backed up. Every node above that
/// becomes proven gets its exact value, and the means above it are corrected as if all its visits
/// had returned that value. The root keeps its mean: it is still searched and read.
inline void propagate_bounds(Tree& tree, std::span<const NodeId> path) {
  for (std::size_t i = path.size() - 1; i-- > 0;) {
    Node& node = tree[path[i]];
    const Bounds bounds = bounds_from_children(tree, node);
    if (bounds.low == node.low && bounds.high == node.high) return;
    node.low = bounds.low;
    node.high = bounds.high;
    if (!node.proven() || i == 0) continue;

    // A draw is worth what the drawn child is worth: a draw score may have shifted it.
    double value = node.low;
    if (value == 0) {
      for (const NodeId id : tree.children(node)) {
        if (tree[id].proven() && tree[id].low == 0) value = value_for(node, tree[id]);
      }
    }
    const float draw = node.low == 0 ? 1.0F : 0.0F;
    const float length = proven_length(tree, node);
    double change = (value - node.value) * node.visits;
    const float square_change =
        (static_cast<float>(value * value) - node.square) * static_cast<float>(node.visits);
    const float draw_change = (draw - node.draw) * static_cast<float>(node.visits);
    const float length_change = (length - node.moves_left) * static_cast<float>(node.visits);
    node.value = value;
    node.square = static_cast<float>(value * value);
    node.draw = draw;
    node.moves_left = length;
    for (std::size_t j = i; j-- > 0;) {
      Node& above = tree[path[j]];
      if (j > 0 && above.proven()) break;
      if (above.side != tree[path[j + 1]].side) change = -change;
      const double share = 1.0 / above.visits;
      const auto part = static_cast<float>(share);
      above.value += change * share;
      above.square += square_change * part;
      above.draw += draw_change * part;
      above.moves_left += length_change * part;
    }
  }
}

}  // namespace zerogames
