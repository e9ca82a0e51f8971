#pragma once

// Gumbel AlphaZero: sequential halving at the root and completed values, as mctx defines them.

#include <algorithm>
#include <cmath>
#include <vector>

#include "zerogames/search_settings.hpp"
#include "zerogames/tree.hpp"

namespace zerogames {

/// For each of `simulations` root steps, the visit count that the chosen action must have, when
/// `considered` actions take part in sequential halving.
inline std::vector<std::uint32_t> halving_table(int considered, int simulations) {
  std::vector<std::uint32_t> table;
  table.reserve(simulations);
  const auto full = [&] { return static_cast<int>(table.size()) >= simulations; };
  if (considered <= 1) {
    while (!full()) table.push_back(static_cast<std::uint32_t>(table.size()));
    return table;
  }
  const int rounds = std::bit_width(static_cast<unsigned>(considered - 1));  // ceil(log2)
  std::vector<std::uint32_t> visits(considered, 0);
  int slots = considered;
  while (!full()) {
    const int extra = std::max(1, simulations / (rounds * slots));
    for (int i = 0; i < extra && !full(); ++i) {
      for (int slot = 0; slot < slots && !full(); ++slot) table.push_back(visits[slot]++);
    }
    slots = std::max(2, slots / 2);
  }
  return table;
}

/// The completed values of one node: Q where visited, else the mixed value; and sigma of them.
class CompletedValues {
 public:
  /// `action_size` matters: as in mctx, actions that are illegal count as unvisited, so the mixed
  /// value takes part in the rescaling unless every action of the game was visited.
  CompletedValues(const SearchSettings& settings, const Tree& tree, const Node& node,
                  int action_size)
      : settings_(settings) {
    double weight = 0, weighted = 0, visit_sum = 0;
    std::uint32_t most = 0;
    int visited = 0;
    double low = 1e300, high = -1e300;
    for (const NodeId id : tree.children(node)) {
      const Node& child = tree[id];
      if (child.visits == 0) continue;
      const double q = -child.value;
      const double prior = std::max<double>(child.prior, 1e-38);
      weight += prior;
      weighted += prior * q;
      visit_sum += child.visits;
      most = std::max(most, child.visits);
      low = std::min(low, q);
      high = std::max(high, q);
      ++visited;
    }
    mixed_ = visited == 0 ? node.net_value
                          : (node.net_value + visit_sum * weighted / weight) / (1 + visit_sum);
    if (visited < action_size) {
      low = std::min(low, mixed_);
      high = std::max(high, mixed_);
    }
    visit_sum_ = visit_sum;
    scale_ = (settings.gumbel_visit_offset + most) * settings.gumbel_value_scale;
    low_ = low;
    range_ = std::max(high - low, kSmallestRange);
    highest_sigma_ = sigma(high);
  }

  double mixed() const { return mixed_; }
  double visit_sum() const { return visit_sum_; }
  double highest_sigma() const { return highest_sigma_; }
  double sigma(double q) const {
    return scale_ * (settings_.gumbel_rescale ? (q - low_) / range_ : q);
  }
  /// sigma of a child that may not be visited yet.
  double sigma_of(const Node& child) const {
    return sigma(child.visits > 0 ? -child.value : mixed_);
  }

 private:
  /// mctx has 1e-8, but a net's values are float32: where all are equal up to rounding, the
  /// rescaling must not blow the rounding up to a full range.
  static constexpr double kSmallestRange = 1e-6;

  const SearchSettings& settings_;
  double mixed_ = 0, visit_sum_ = 0, scale_ = 0, low_ = 0, range_ = 1, highest_sigma_ = 0;
};

/// The edge to follow below the root: the improved policy minus the share of visits it has had.
/// Returns num_children for the best unvisited edge.
inline std::uint32_t gumbel_interior(const SearchSettings& settings, const Tree& tree,
                                     const Node& node, int action_size) {
  const CompletedValues completed(settings, tree, node, action_size);
  const auto children = tree.children(node);
  const auto improved = [&](double prior, double sigma) {
    return prior * std::exp(sigma - completed.highest_sigma());
  };
  // All unvisited edges share one value, so their probabilities are summed at once.
  const double open_sigma = completed.sigma(completed.mixed());
  double total = 0, visited_prior = 0, in_flight = 0;
  for (const NodeId id : children) {
    const Node& child = tree[id];
    total += improved(child.prior, completed.sigma_of(child));
    visited_prior += child.prior;
    in_flight += child.in_flight;
  }
  const bool any_unvisited = node.num_children < node.num_edges;
  if (any_unvisited) total += improved(std::max(0.0, 1 - visited_prior), open_sigma);
  total = std::max(total, 1e-300);
  const double visit_sum = completed.visit_sum() + in_flight;

  std::uint32_t best = node.num_children;
  double best_score = -1e300;
  int best_action = 0;
  if (any_unvisited) {
    best_score = improved(tree.priors(node)[node.num_children], open_sigma) / total;
    best_action = tree.actions(node)[node.num_children];
  }
  for (std::uint32_t i = 0; i < children.size(); ++i) {
    const Node& child = tree[children[i]];
    const double score = improved(child.prior, completed.sigma_of(child)) / total -
                         (child.visits + child.in_flight) / (1 + visit_sum);
    if (score > best_score || (score == best_score && child.action < best_action)) {
      best = i;
      best_score = score;
      best_action = child.action;
    }
  }
  return best;
}

}  // namespace zerogames
