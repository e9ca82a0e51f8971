#pragma once

// What a pool notes down about a self-play game, move by move.

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "zerogames/policy_target.hpp"
#include "zerogames/root_view.hpp"

namespace zerogames {

/// How a move was found; the order is that of `SEARCH_KINDS` in zerogames/data/record.py.
enum class SearchKind : std::uint8_t { kFull, kFast, kProved, kPolicy, kRandom };

/// A finished search, read once for the log and the decision to resign.
struct SearchSummary {
  SearchSummary(const RootView& root_view, Action action)
      : view(root_view), root(view.root()), children(view.children()), proven(view.proven()) {
    root_value = proven ? root.low : root.value;
    for (std::size_t i = 0; i < children.size(); ++i) {
      if (better_child(children[i], children[best])) best = i;
      if (children[i].action == action) played = i;
      visits += children[i].visits;
    }
    best_value = children[best].visits > 0 ? children[best].value : root_value;
  }

  const RootView& view;
  const Node& root;
  const std::vector<RootChild> children;
  const bool proven;
  std::size_t best = 0, played = 0;  ///< indices of children
  double visits = 0;                 ///< of all children
  double root_value = 0, best_value = 0;
};

/// A finished game. Per-move values are the view of the player who moved; NaN where nothing was
/// searched or the net has no such output.
struct GameLog {
  std::uint64_t index = 0, seed = 0, net_version = 0;
  int start = -1;  ///< index of the start position, -1 for the initial one
  float result = 0;
  std::string reason;
  bool never_resign = false;
  int would_resign_ply = -1;  ///< first ply at which the rule asked to resign
  float lowest_value[2] = {1, 1};

  std::vector<std::int32_t> actions, best_actions, simulations;
  std::vector<std::uint8_t> kinds;
  std::vector<float> surprise;
  struct Values {
    std::vector<float> q, d, m;
    void push(double value, double draw, double moves_left) {
      q.push_back(static_cast<float>(value));
      d.push_back(static_cast<float>(draw));
      m.push_back(static_cast<float>(moves_left));
    }
  } root, best, played, net;
  /// The searched actions of move i are entries offsets[i] to offsets[i + 1].
  std::vector<std::int32_t> offsets = {0}, searched_actions, visits;
  std::vector<float> targets;

  /// A random move or one drawn from the net's policy.
  void add_unsearched_move(Action action, SearchKind kind) {
    constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
    actions.push_back(action);
    best_actions.push_back(action);
    simulations.push_back(0);
    kinds.push_back(static_cast<std::uint8_t>(kind));
    surprise.push_back(kNone);
    for (Values* values : {&root, &best, &played, &net}) values->push(kNone, kNone, kNone);
    offsets.push_back(static_cast<std::int32_t>(visits.size()));
  }

  /// A move that a search of `kind` found; `with_moves_left` if the net has this output.
  void add_searched_move(const SearchSummary& found, SearchKind kind, bool with_moves_left) {
    const double none = std::numeric_limits<double>::quiet_NaN();
    const Node& node = found.root;
    const auto target = found.view.policy_target();
    actions.push_back(found.children[found.played].action);
    best_actions.push_back(found.children[found.best].action);
    simulations.push_back(static_cast<std::int32_t>(found.visits));
    kinds.push_back(static_cast<std::uint8_t>(found.proven ? SearchKind::kProved : kind));
    std::vector<double> priors;
    for (const RootChild& child : found.children) priors.push_back(child.prior);
    surprise.push_back(static_cast<float>(policy_surprise(target, priors)));
    root.push(found.root_value, found.proven ? node.low == 0 : node.draw,
              with_moves_left ? node.moves_left : none);
    net.push(node.net_value, node.net_draw, with_moves_left ? node.net_moves_left : none);
    for (const auto& [values, row] :
         {std::pair(&best, found.best), std::pair(&played, found.played)}) {
      const RootChild& child = found.children[row];
      const bool seen = child.visits > 0;
      values->push(seen ? child.value : none, seen ? child.draw : none,
                   seen && with_moves_left ? child.moves_left : none);
    }
    for (std::size_t i = 0; i < found.children.size(); ++i) {
      if (found.children[i].visits == 0 && target[i] < 1e-6) continue;
      searched_actions.push_back(found.children[i].action);
      visits.push_back(static_cast<std::int32_t>(found.children[i].visits));
      targets.push_back(static_cast<float>(target[i]));
    }
    offsets.push_back(static_cast<std::int32_t>(visits.size()));
  }
};

}  // namespace zerogames
