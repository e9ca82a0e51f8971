#pragma once

// Gumbel AlphaZero (Danihelka et al. 2022), all of it, as mctx defines it: Gumbel noise and
// sequential halving at the root, completed Q values and sigma, the improved policy that interior
// nodes follow and the net learns, and the move to play.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "zerogames/allowed_actions.hpp"
#include "zerogames/random.hpp"
#include "zerogames/root_child.hpp"
#include "zerogames/root_priors.hpp"
#include "zerogames/search_settings.hpp"
#include "zerogames/tree.hpp"

namespace zerogames {

/// Sequential halving: for each of `simulations` root steps, the visit count that the chosen
/// action must have when `considered` actions take part.
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
      : settings_(settings), node_(node) {
    double weight = 0, weighted = 0, visit_sum = 0;
    std::uint32_t most = 0;
    int visited = 0;
    double low = 1e300, high = -1e300;
    for (const NodeId id : tree.children(node)) {
      const Node& child = tree[id];
      if (child.visits == 0) continue;
      const double q = value_for(node, child);
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
    return sigma(child.visits > 0 ? value_for(node_, child) : mixed_);
  }

 private:
  /// mctx has 1e-8, but a net's values are float32: where all are equal up to rounding, the
  /// rescaling must not blow the rounding up to a full range.
  static constexpr double kSmallestRange = 1e-6;

  const SearchSettings& settings_;
  const Node& node_;
  double mixed_ = 0, visit_sum_ = 0, scale_ = 0, low_ = 0, range_ = 1, highest_sigma_ = 0;
};

/// The improved policy, not normalised: the net's prior, weighted by the completed values.
inline double improved_policy(const CompletedValues& completed, double prior, double sigma) {
  return prior * std::exp(sigma - completed.highest_sigma());
}

/// Selection below the root: the improved policy minus the share of visits it has had.
/// Returns num_children for the best unvisited edge.
inline std::uint32_t select_gumbel_interior(const SearchSettings& settings, const Tree& tree,
                                            const Node& node, int action_size) {
  const CompletedValues completed(settings, tree, node, action_size);
  const auto children = tree.children(node);
  const auto improved = [&](double prior, double sigma) {
    return improved_policy(completed, prior, sigma);
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

/// The policy target of a Gumbel search, not normalised. `raw_priors` and `children` are by
/// ascending legal action.
inline std::vector<double> gumbel_policy_target(const CompletedValues& completed,
                                                std::span<const float> raw_priors,
                                                std::span<const RootChild> children) {
  std::vector<double> target(children.size());
  for (std::size_t i = 0; i < children.size(); ++i) {
    const double q = children[i].visits > 0 ? children[i].value : completed.mixed();
    target[i] = improved_policy(completed, raw_priors[i], completed.sigma(q));
  }
  return target;
}

/// The root of a Gumbel search: its noise by action, and sequential halving.
class GumbelRoot {
 public:
  /// Uses these numbers, by action, instead of drawn noise; none: draw again.
  void fix_noise(std::vector<double> noise) { fixed_noise_ = std::move(noise); }

  /// Draws noise for every legal action; at scale 0 there is none. The largest of logits with noise
  /// times t is a draw from their softmax at temperature t.
  void sample_noise(std::span<const RootEdge> edges, int action_size, double scale,
                    Random& random) {
    noise_ = fixed_noise_;
    noise_.resize(static_cast<std::size_t>(action_size), 0.0);
    if (!fixed_noise_.empty() || scale <= 0) return;
    for (const RootEdge& edge : edges) noise_[edge.action] = scale * random.gumbel();
  }
  void begin_halving(int considered, int simulations) {
    halving_ = halving_table(considered, simulations);
  }

  CompletedValues completed_values(const SearchSettings& settings, const Tree& tree) const {
    return {settings, tree, tree[tree.root()], static_cast<int>(noise_.size())};
  }

  /// Among the actions with the visits that this step of sequential halving asks for, the best by
  /// noise, logit and completed value. Returns num_children for an unvisited edge.
  std::uint32_t select(const SearchSettings& settings, Tree& tree,
                       const AllowedActions& allowed) const {
    Node& root = tree[tree.root()];
    const CompletedValues completed = completed_values(settings, tree);
    const std::uint32_t step = root.visits - 1 + root.in_flight;
    const std::uint32_t wanted = halving_[std::min<std::size_t>(step, halving_.size() - 1)];
    const auto children = tree.children(root);
    const auto actions = tree.actions(root);
    const auto priors = tree.priors(root);
    float highest = 0;
    for (const float prior : priors) highest = std::max(highest, prior);
    std::uint32_t best = 0;
    while (!allowed.contains(actions[best])) ++best;
    double best_score = -1e300;
    for (std::uint32_t i = 0; i < root.num_edges; ++i) {
      const Node* child = i < children.size() ? &tree[children[i]] : nullptr;
      if (!allowed.contains(actions[i])) continue;
      if ((child ? child->visits + child->in_flight : 0) != wanted) continue;
      const double sigma = child ? completed.sigma_of(*child) : completed.sigma(completed.mixed());
      const double score =
          std::max(-1e9, noise_[actions[i]] + log_prior(priors[i]) - log_prior(highest) + sigma);
      if (score > best_score || (score == best_score && actions[i] < actions[best])) {
        best = i;
        best_score = score;
      }
    }
    if (best < children.size()) return best;
    tree.promote(root, best);
    return root.num_children;
  }

  /// The index of the move to play: the most visited one with the highest noise, logit and
  /// completed value, unless a result is proven.
  std::size_t choose(const CompletedValues& completed, const AllowedActions& allowed,
                     std::span<const float> raw_priors, std::span<const RootChild> children) const {
    std::size_t best = 0;
    while (!allowed.contains(children[best].action)) ++best;
    bool all_lost = true;
    double most = 0;
    for (std::size_t i = 0; i < children.size(); ++i) {
      if (!allowed.contains(children[i].action)) continue;
      if (better_child(children[i], children[best])) best = i;
      if (children[i].lost()) continue;
      all_lost = false;
      most = std::max(most, children[i].visits);
    }
    if (children[best].won() || all_lost) return best;
    double best_score = -1e300;
    for (std::size_t i = 0; i < children.size(); ++i) {
      if (children[i].lost() || children[i].visits != most) continue;
      if (!allowed.contains(children[i].action)) continue;
      const double q = children[i].visits > 0 ? children[i].value : completed.mixed();
      const double score =
          noise_[children[i].action] + log_prior(raw_priors[i]) + completed.sigma(q);
      if (score > best_score) {
        best = i;
        best_score = score;
      }
    }
    return best;
  }

 private:
  static double log_prior(float prior) { return std::log(std::max<double>(prior, 1e-38)); }

  std::vector<double> noise_, fixed_noise_;  ///< by action
  std::vector<std::uint32_t> halving_;
};

}  // namespace zerogames
