#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "zerogames/game.hpp"
#include "zerogames/random.hpp"

namespace zerogames {

/// Monte Carlo tree search without a net: upper confidence bounds in the tree (UCB1), random moves
/// below it. Deterministic for a seed.
template <Game G>
class Rollouts {
 public:
  static constexpr double kExploration = 1.4;
  /// Plies; longer rollouts count as draws.
  static constexpr int kLongest = 1000;

  Rollouts(const G& root, std::uint64_t seed) : root_(root), state_(root), random_(seed) {
    nodes_.push_back({});
    if (!root_.result()) expand(0, root_);
  }

  /// Adds `count` rollouts; none if the game is over.
  void run(int count) {
    if (nodes_[0].num_children == 0) return;
    for (int i = 0; i < count; ++i) simulate();
  }

  struct Child {
    Action action;
    std::uint32_t visits;
    /// Mean, in the view of the player to move at the root.
    double value;
  };
  /// The legal moves, ascending.
  std::vector<Child> children() const {
    std::vector<Child> found;
    for (std::uint32_t i = 0; i < nodes_[0].num_children; ++i) {
      const Node& child = nodes_[nodes_[0].first_child + i];
      found.push_back({child.action, child.visits, child.visits ? child.sum / child.visits : 0.0});
    }
    return found;
  }
  std::uint64_t total() const { return nodes_[0].visits; }

 private:
  struct Node {
    Action action = -1;
    std::uint32_t visits = 0;
    /// Of the results, in the view of the player who came here.
    double sum = 0;
    std::uint32_t first_child = 0, num_children = 0;
    bool is_expanded = false;
  };

  void expand(std::size_t index, const G& state) {
    state.legal_actions(actions_);
    nodes_[index].is_expanded = true;
    nodes_[index].first_child = static_cast<std::uint32_t>(nodes_.size());
    nodes_[index].num_children = static_cast<std::uint32_t>(actions_.size());
    for (const Action action : actions_) nodes_.push_back({.action = action});
  }

  void simulate() {
    state_ = root_;
    path_.clear();
    std::size_t index = 0;
    std::optional<float> result;
    // A node gets its children at its second visit: most are only seen once.
    while (!(result = state_.result()) && nodes_[index].is_expanded) {
      const int mover = state_.to_play();
      index = select(nodes_[index]);
      state_.play(nodes_[index].action);
      path_.emplace_back(index, mover);
    }
    if (!result && nodes_[index].visits > 0) {
      expand(index, state_);
      const int mover = state_.to_play();
      index = select(nodes_[index]);
      state_.play(nodes_[index].action);
      path_.emplace_back(index, mover);
    }
    const float outcome = roll_out();
    ++nodes_[0].visits;
    for (const auto& [visited, mover] : path_) {
      ++nodes_[visited].visits;
      nodes_[visited].sum += mover == 0 ? outcome : -outcome;
    }
  }

  std::size_t select(const Node& node) {
    std::uint32_t num_new = 0;
    double best = -1e9;
    std::size_t chosen = node.first_child;
    // Its children's visits: one less than its own, which has the rollout from the node itself.
    std::uint64_t total = 0;
    for (std::uint32_t i = 0; i < node.num_children; ++i) {
      const std::uint32_t visits = nodes_[node.first_child + i].visits;
      num_new += visits == 0;
      total += visits;
    }
    if (num_new > 0) {
      std::uint32_t skip = random_.below(num_new);
      for (;; ++chosen) {
        if (nodes_[chosen].visits == 0 && skip-- == 0) return chosen;
      }
    }
    const double spread = kExploration * std::sqrt(std::log(static_cast<double>(total)));
    for (std::uint32_t i = 0; i < node.num_children; ++i) {
      const Node& child = nodes_[node.first_child + i];
      const double visits = child.visits;
      const double bound = child.sum / visits + spread / std::sqrt(visits);
      if (bound > best) {
        best = bound;
        chosen = node.first_child + i;
      }
    }
    return chosen;
  }

  /// First player's view.
  float roll_out() {
    for (int ply = 0; ply < kLongest; ++ply) {
      if (const auto result = state_.result()) return *result;
      state_.legal_actions(actions_);
      state_.play(actions_[random_.below(static_cast<std::uint32_t>(actions_.size()))]);
    }
    return 0;
  }

  G root_, state_;
  Random random_;
  std::vector<Node> nodes_;
  std::vector<Action> actions_;
  /// Nodes below the root with the player who chose each.
  std::vector<std::pair<std::size_t, int>> path_;
};

}  // namespace zerogames
