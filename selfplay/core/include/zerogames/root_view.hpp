#pragma once

// Reading a search: what it found about each root action, what to learn from it, what to play.

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "zerogames/allowed_actions.hpp"
#include "zerogames/choose_move.hpp"
#include "zerogames/error.hpp"
#include "zerogames/game.hpp"
#include "zerogames/gumbel.hpp"
#include "zerogames/policy_target.hpp"
#include "zerogames/random.hpp"
#include "zerogames/tree.hpp"

namespace zerogames {

/// What a search keeps of its root besides the tree.
struct RootPolicy {
  AllowedActions allowed;
  std::vector<float> raw_priors;  ///< the net's, by ascending action; empty before it is evaluated
  GumbelRoot gumbel;
  bool explore = false;  ///< as in SearchBudget
};

/// Refers to a search and must not outlive its next step.
class RootView {
 public:
  RootView(const SearchSettings& settings, const Tree& tree, const RootPolicy& policy)
      : settings_(settings), tree_(tree), policy_(policy) {}

  const Node& root() const { return tree_[tree_.root()]; }
  /// The root's priors without noise or temperature, by ascending legal action.
  std::span<const float> raw_priors() const { return policy_.raw_priors; }
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
      rows.push_back(visited ? describe(root, tree_[children[i]]) : RootChild());
      rows.back().action = actions[i];
      rows.back().prior = priors[i];
    }
    std::ranges::sort(rows, {}, &RootChild::action);
    return rows;
  }

  /// What the policy should learn, by ascending legal action; sums to one.
  std::vector<double> policy_target() const {
    const auto children = this->children();
    if (children.empty()) return {};
    if (proven() && root().low == 1) return target_of_win(children);
    std::vector<double> target;
    if (settings_.algorithm == Algorithm::kGumbel && !proven()) {
      target = gumbel_policy_target(policy_.gumbel.completed_values(settings_, tree_),
                                    policy_.raw_priors, children);
    } else {
      target = weights(children);
      if (settings_.solver) drop_lost_moves(children, target);
    }
    normalize_target(children, target);
    return target;
  }

  /// The action to play with the given temperature (0: the best one) among the allowed ones; after
  /// at least one evaluation of the root.
  Action choose(double temperature, Random& random) const {
    auto children = this->children();
    if (children.empty()) throw Error("the root is not evaluated yet");
    if (settings_.algorithm == Algorithm::kGumbel) {
      const auto completed = policy_.gumbel.completed_values(settings_, tree_);
      return children[policy_.gumbel.choose(completed, policy_.allowed, policy_.raw_priors,
                                            children)]
          .action;
    }
    std::erase_if(children,
                  [&](const RootChild& child) { return !policy_.allowed.contains(child.action); });
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
        const RootChild row = describe(*node, child);
        if (!best || better_child(row, best_row)) best = &child, best_row = row;
      }
      if (!best) break;
      line.push_back(best->action);
      node = best;
    }
    return line;
  }

 private:
  /// A visited child in its parent's view.
  static RootChild describe(const Node& parent, const Node& child) {
    RootChild row;
    row.action = child.action;
    row.prior = child.prior;
    row.visits = child.visits;
    row.value = 0.0 + value_for(parent, child);
    row.variance = std::max(0.0, child.square - child.value * child.value);
    const Bounds bounds = bounds_for(parent, child);
    row.low = bounds.low;
    row.high = bounds.high;
    row.moves_left = static_cast<double>(child.moves_left) + (child.side != parent.side);
    row.draw = child.draw;
    return row;
  }

  /// Visits, pruned if the settings say so.
  std::vector<double> weights(std::span<const RootChild> children) const {
    const bool prune = settings_.prune_policy_target && policy_.explore;
    return prune ? pruned_visits(settings_, children) : visit_counts(children);
  }

  const SearchSettings& settings_;
  const Tree& tree_;
  const RootPolicy& policy_;
};

}  // namespace zerogames
