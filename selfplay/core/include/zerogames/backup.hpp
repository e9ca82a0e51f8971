#pragma once

// Backup: how the evaluation of a leaf becomes part of every node on its path.

#include <cstdint>
#include <span>

#include "zerogames/tree.hpp"

namespace zerogames {

/// What a simulation found at its last node, the view of the player to move there.
struct LeafValue {
  double value;
  float draw;
  float moves_left;
};

/// Adds one evaluation to the means of every node of the path. What is proven stays exact.
inline void backup(Tree& tree, std::span<const NodeId> path, LeafValue leaf) {
  int side = tree[path.back()].side;
  for (std::size_t i = path.size(); i-- > 0;) {
    Node& node = tree[path[i]];
    if (node.side != side) {
      side = node.side;
      leaf.value = -leaf.value;
      leaf.moves_left += 1;
    }
    if (i > 0 && node.proven()) leaf = {node.value, node.draw, node.moves_left};
    const double share = 1.0 / ++node.visits;
    const auto part = static_cast<float>(share);
    node.value += (leaf.value - node.value) * share;
    node.square += (static_cast<float>(leaf.value * leaf.value) - node.square) * part;
    node.draw += (leaf.draw - node.draw) * part;
    node.moves_left += (leaf.moves_left - node.moves_left) * part;
  }
}

/// A node's means from its own evaluation and its children's.
inline void recompute(Tree& tree, Node& node) {
  node.visits = 1;
  node.value = node.net_value;
  node.square = node.net_value * node.net_value;
  node.draw = node.net_draw;
  node.moves_left = node.net_moves_left;
  for (const NodeId id : tree.children(node)) {
    const Node& child = tree[id];
    if (child.visits == 0) continue;
    node.visits += child.visits;
    const double share = static_cast<double>(child.visits) / node.visits;
    const auto part = static_cast<float>(share);
    node.value += (value_for(node, child) - node.value) * share;
    node.square += (child.square - node.square) * part;
    node.draw += (child.draw - node.draw) * part;
    node.moves_left += (moves_left_for(node, child) - node.moves_left) * part;
  }
}

}  // namespace zerogames
