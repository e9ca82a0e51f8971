#pragma once

// The priors of the root, which exploration changes; those of the net are kept beside them.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "zerogames/tree.hpp"

namespace zerogames {

struct RootEdge {
  std::uint16_t action;
  std::uint32_t index;  ///< in the tree's order of edges
};

/// The root's edges by ascending action. Promotions of unvisited edges are undone first.
inline std::vector<RootEdge> root_edges(Tree& tree) {
  Node& root = tree[tree.root()];
  tree.sort_unvisited(root);
  const auto actions = tree.actions(root);
  std::vector<RootEdge> edges;
  for (std::uint32_t i = 0; i < root.num_edges; ++i) edges.push_back({actions[i], i});
  std::ranges::sort(edges, {}, &RootEdge::action);
  return edges;
}

inline std::vector<float> read_root_priors(const Tree& tree, std::span<const RootEdge> edges) {
  const auto priors = tree.priors(tree[tree.root()]);
  std::vector<float> values;
  for (const RootEdge& edge : edges) values.push_back(priors[edge.index]);
  return values;
}

/// `values` are in the order of `edges`.
inline void write_root_priors(Tree& tree, std::span<const RootEdge> edges,
                              std::span<const float> values) {
  Node& root = tree[tree.root()];
  const auto priors = tree.priors(root);
  for (std::size_t i = 0; i < edges.size(); ++i) priors[edges[i].index] = values[i];
  const auto children = tree.children(root);
  for (std::size_t i = 0; i < children.size(); ++i) tree[children[i]].prior = priors[i];
  tree.order_edges(root);
}

}  // namespace zerogames
