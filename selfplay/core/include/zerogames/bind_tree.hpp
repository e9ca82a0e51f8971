#pragma once

// The whole tree for Python, for tests and for looking at it.

#include <cstdint>
#include <utility>
#include <vector>

#include "zerogames/bind_numpy.hpp"
#include "zerogames/tree.hpp"

namespace zerogames::detail {

/// The whole tree as columns, parents before children.
inline nb::dict tree_columns(const Tree& tree) {
  std::vector<std::int32_t> parent, action, visits, num_legal;
  std::vector<double> value;
  std::vector<float> prior, net_value;
  std::vector<std::int8_t> low, high, side;
  std::vector<std::pair<NodeId, std::int32_t>> open = {{tree.root(), -1}};
  for (std::size_t i = 0; i < open.size(); ++i) {
    const Node& node = tree[open[i].first];
    parent.push_back(open[i].second);
    action.push_back(i == 0 ? -1 : node.action);
    visits.push_back(static_cast<std::int32_t>(node.visits));
    num_legal.push_back(node.num_edges);
    value.push_back(node.value);
    prior.push_back(node.prior);
    net_value.push_back(node.net_value);
    low.push_back(node.low);
    high.push_back(node.high);
    side.push_back(static_cast<std::int8_t>(node.side));
    for (const NodeId child : tree.children(node)) {
      open.emplace_back(child, static_cast<std::int32_t>(i));
    }
  }
  nb::dict columns;
  columns["parent"] = to_array(parent);
  columns["action"] = to_array(action);
  columns["visits"] = to_array(visits);
  columns["num_legal"] = to_array(num_legal);
  columns["value"] = to_array(value);
  columns["prior"] = to_array(prior);
  columns["net_value"] = to_array(net_value);
  columns["low"] = to_array(low);
  columns["high"] = to_array(high);
  columns["side"] = to_array(side);
  return columns;
}

}  // namespace zerogames::detail
