#pragma once

// Reading a search: what it found about each root action, what to learn from it, what to play.

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "zerogames/error.hpp"
#include "zerogames/game.hpp"
#include "zerogames/gumbel.hpp"
#include "zerogames/puct.hpp"
#include "zerogames/random.hpp"
#include "zerogames/tree.hpp"

namespace zerogames {

/// Refers to a search and must not outlive its next step.
class RootView {
 public:
  /// `raw_priors` are by ascending legal action, `gumbels` by action, and so is `allowed`, which
  /// is empty if all actions may be chosen; `explore` as in SearchBudget.
  RootView(const SearchSettings& settings, const Tree& tree, std::span<const float> raw_priors,
           std::span<const double> gumbels, int action_size, std::span<const std::uint8_t> allowed,
           bool explore)
      : settings_(settings),
        tree_(tree),
        raw_priors_(raw_priors),
        gumbels_(gumbels),
        action_size_(action_size),
        allowed_(allowed),
        explore_(explore) {}

  const Node& root() const { return tree_[tree_.root()]; }
  /// The root's priors without noise or temperature, by ascending legal action.
  std::span<const float> raw_priors() const { return raw_priors_; }
  /// The result is certain.
  bool proven() const { return settings_.solver && root().proven(); }

  /// All legal root actions, ascending.
  std::vector<RootChild> children() const {
    const Node& root = this->root();
    std::vector<RootChild> rows;
    if (!root.expanded) return rows;
    const auto children = tree_.children(root);
    const auto actions = tree_.actions(root);
    const auto priors = tree_.priors(root);
    for (std::uint32_t i = 0; i < root.num_edges; ++i) {
      const bool visited = i < children.size() && tree_[children[i]].visits > 0;
      rows.push_back(visited ? describe(tree_[children[i]]) : RootChild());
      rows.back().action = actions[i];
      rows.back().prior = priors[i];
    }
    std::ranges::sort(rows, {}, &RootChild::action);
    return rows;
  }

  /// What the policy should learn, by ascending legal action; sums to one.
  std::vector<double> policy_target() const {
    const auto children = this->children();
    std::vector<double> target(children.size());
    if (children.empty()) return target;
    if (proven() && root().low == 1) {
      std::size_t best = 0;
      for (std::size_t i = 1; i < children.size(); ++i) {
        if (better_child(children[i], children[best])) best = i;
      }
      target[best] = 1;
      return target;
    }
    if (settings_.algorithm == Algorithm::kGumbel && !proven()) {
      const CompletedValues completed(settings_, tree_, root(), action_size_);
      for (std::size_t i = 0; i < children.size(); ++i) {
        const double q = children[i].visits > 0 ? children[i].value : completed.mixed();
        target[i] = raw_priors_[i] * std::exp(completed.sigma(q) - completed.highest_sigma());
      }
    } else {
      target = weights(children);
      if (settings_.solver) {
        double open = 0;
        for (std::size_t i = 0; i < children.size(); ++i) {
          if (!children[i].lost()) open += target[i];
        }
        for (std::size_t i = 0; i < children.size(); ++i) {
          if (open > 0 && children[i].lost()) target[i] = 0;
        }
      }
    }
    double total = 0;
    for (const double weight : target) total += weight;
    for (std::size_t i = 0; i < target.size(); ++i) {
      target[i] = total > 0 ? target[i] / total : children[i].prior;
    }
    return target;
  }

  /// The action to play with the given temperature (0: the best one) among the allowed ones; after
  /// at least one evaluation of the root.
  Action choose(double temperature, Random& random) const {
    auto children = this->children();
    if (children.empty()) throw Error("the root is not evaluated yet");
    if (settings_.algorithm == Algorithm::kGumbel) return children[gumbel_choice(children)].action;
    std::erase_if(children, [&](const RootChild& child) { return !is_allowed(child.action); });
    std::vector<double> weights = this->weights(children);
    if (settings_.lcb) {
      weights = lcb_weights(children, weights, settings_.lcb_stdevs, settings_.lcb_min_share);
    }
    return children[choose_child(settings_, children, weights, temperature, random)].action;
  }

  /// The best line, at most `length` actions, from the root or from the child of action `first`,
  /// which the line then begins with.
  std::vector<Action> principal_variation(std::size_t length,
                                          std::optional<Action> first = std::nullopt) const {
    std::vector<Action> line;
    const Node* node = &root();
    if (first) {
      line.push_back(*first);
      const auto children = tree_.children(*node);
      const auto found = std::ranges::find_if(
          children, [&](const NodeId id) { return tree_[id].action == *first; });
      if (found == children.end()) return line;
      node = &tree_[*found];
    }
    while (line.size() < length && node->num_children > 0) {
      const Node* best = nullptr;
      RootChild best_row;
      for (const NodeId id : tree_.children(*node)) {
        const Node& child = tree_[id];
        if (child.visits == 0) continue;
        const RootChild row = describe(child);
        if (!best || better_child(row, best_row)) best = &child, best_row = row;
      }
      if (!best) break;
      line.push_back(best->action);
      node = best;
    }
    return line;
  }

  static double log_prior(float prior) { return std::log(std::max<double>(prior, 1e-38)); }

 private:
  bool is_allowed(Action action) const {
    return allowed_.empty() || allowed_[static_cast<std::size_t>(action)] != 0;
  }

  /// A visited child in its parent's view.
  static RootChild describe(const Node& child) {
    RootChild row;
    row.action = child.action;
    row.prior = child.prior;
    row.visits = child.visits;
    row.value = 0.0 - child.value;
    row.variance = std::max(0.0, child.square - child.value * child.value);
    row.low = -child.high;
    row.high = -child.low;
    row.moves_left = child.moves_left;
    row.draw = child.draw;
    return row;
  }

  std::size_t gumbel_choice(std::span<const RootChild> children) const {
    const CompletedValues completed(settings_, tree_, root(), action_size_);
    std::size_t best = 0;
    while (!is_allowed(children[best].action)) ++best;
    bool all_lost = true;
    double most = 0;
    for (std::size_t i = 0; i < children.size(); ++i) {
      if (!is_allowed(children[i].action)) continue;
      if (better_child(children[i], children[best])) best = i;
      if (children[i].lost()) continue;
      all_lost = false;
      most = std::max(most, children[i].visits);
    }
    if (children[best].won() || all_lost) return best;
    double best_score = -1e300;
    for (std::size_t i = 0; i < children.size(); ++i) {
      if (children[i].lost() || children[i].visits != most) continue;
      if (!is_allowed(children[i].action)) continue;
      const double q = children[i].visits > 0 ? children[i].value : completed.mixed();
      const double score =
          gumbels_[children[i].action] + log_prior(raw_priors_[i]) + completed.sigma(q);
      if (score > best_score) {
        best = i;
        best_score = score;
      }
    }
    return best;
  }

  /// Visits, pruned if the settings say so.
  std::vector<double> weights(std::span<const RootChild> children) const {
    if (settings_.prune_policy_target && explore_) {
      return pruned_visits(settings_, children);
    }
    std::vector<double> visits;
    for (const RootChild& child : children) visits.push_back(child.visits);
    return visits;
  }

  const SearchSettings& settings_;
  const Tree& tree_;
  std::span<const float> raw_priors_;
  std::span<const double> gumbels_;
  int action_size_;
  std::span<const std::uint8_t> allowed_;
  bool explore_;
};

}  // namespace zerogames
