#pragma once

// PUCT: which edge of a node a simulation follows. For every legal action a, in the view of the
// player to move,
//
//   score(a) = Q(a) + c * sqrt(N) * P(a) / (1 + N(a))
//
// with Q(a) the first-play urgency where a is unvisited, c the `cpuct` that grows with N, and lost
// visits added to N(a) and Q(a) for simulations that still wait for the net (virtual loss).

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "zerogames/allowed_actions.hpp"
#include "zerogames/search_settings.hpp"
#include "zerogames/tree.hpp"

namespace zerogames {

/// c of PUCT and its logarithmic growth with the visits of the parent's children.
inline double cpuct(const SearchSettings& settings, double child_visits) {
  if (settings.cpuct_factor == 0) return settings.cpuct;
  double visits = child_visits;  // KataGo
  if (settings.puct_visits == PuctVisits::kAlphaZero) visits = child_visits + 2;
  if (settings.puct_visits == PuctVisits::kLc0) visits = child_visits + 1;
  return settings.cpuct +
         settings.cpuct_factor * std::log((visits + settings.cpuct_base) / settings.cpuct_base);
}

/// The exploration factor c * sqrt(N) of PUCT.
inline double exploration(const SearchSettings& settings, double child_visits) {
  double visits = child_visits + 0.01;  // KataGo
  if (settings.puct_visits == PuctVisits::kAlphaZero) visits = child_visits + 1;
  if (settings.puct_visits == PuctVisits::kLc0) visits = std::max(child_visits, 1.0);
  return cpuct(settings, child_visits) * std::sqrt(visits);
}

/// `exploration` by the number of child visits, computed once where it is asked for often.
class ExplorationTable {
 public:
  explicit ExplorationTable(const SearchSettings& settings) : settings_(settings) {
    small_.reserve(kSize);
    for (std::uint32_t visits = 0; visits < kSize; ++visits) small_.push_back(compute(visits));
  }

  float operator[](std::uint32_t child_visits) const {
    return child_visits < kSize ? small_[child_visits] : compute(child_visits);
  }

 private:
  static constexpr std::uint32_t kSize = 2048;
  float compute(std::uint32_t visits) const {
    return static_cast<float>(exploration(settings_, visits));
  }

  SearchSettings settings_;
  std::vector<float> small_;
};

/// KataGo's dynamic cpuct: more exploration where evaluations disagree. `mean` and `square` are of
/// the node's evaluations, `visits` their number.
inline double cpuct_stdev_factor(double scale, double mean, double square, double visits) {
  constexpr double kPrior = 0.40, kPriorWeight = 2;
  double sigma = kPrior;
  if (visits > 1) {
    const double second = ((mean * mean + kPrior * kPrior) * kPriorWeight + square * visits) /
                          (kPriorWeight + visits - 1);
    sigma = std::sqrt(std::max(0.0, second - mean * mean));
  }
  return 1 + scale * (sigma / kPrior - 1);
}

/// lc0's bonus for short wins and long losses, added to Q. `q` is the child's value for the
/// parent's player; the moves left are the child's and the parent's.
inline double moves_left_utility(const SearchSettings& settings, double q, double child_moves_left,
                                 double parent_moves_left) {
  const double threshold = settings.moves_left_threshold;
  const double certain = std::max(0.0, std::abs(q) - threshold) / (1 - threshold);
  const double longer =
      std::clamp(settings.moves_left_slope * (child_moves_left - parent_moves_left),
                 -settings.moves_left_effect, settings.moves_left_effect);
  return longer * (q > 0 ? -1 : 1) * (1.6521 * certain - 0.6521 * certain * certain);
}

/// Settings of first-play urgency, which the root may have of its own.
struct FpuSettings {
  Fpu kind;
  double value;
};

/// The value that unvisited children of `node` are given; `visited_prior` is the policy mass of the
/// visited ones.
inline float first_play_urgency(const SearchSettings& settings, FpuSettings fpu, const Node& node,
                                float visited_prior) {
  const auto value = static_cast<float>(fpu.value);
  if (fpu.kind == Fpu::kAbsolute) return value;
  auto parent = static_cast<float>(node.value);
  if (settings.fpu_blend) {
    const float weight = std::min(1.0F, visited_prior * visited_prior);
    parent = weight * parent + (1 - weight) * node.net_value;
  }
  return parent - value * std::sqrt(visited_prior);
}

/// Q and N of a child as PUCT sees them.
struct ChildStatistics {
  float q;
  float visits;

  /// Counts `losses` virtual losses: simulations through the child that still wait for the net.
  void add_virtual_loss(float losses) {
    q += (-1.0F - q) * losses / (losses + visits);
    visits += losses;
  }
};

/// The index of the child with the highest score; num_children for the best unvisited edge.
/// With `allowed`, which only the root has, among these actions. `kActsAgain` is the node's
/// `acts_again`: where sides take turns, as in most games, nothing has to be compared.
template <bool kRestricted, bool kActsAgain>
std::uint32_t select_puct_among(const SearchSettings& settings, const ExplorationTable& exploration,
                                const Tree& tree, const Node& node, FpuSettings fpu,
                                const AllowedActions* allowed) {
  const auto children = tree.children(node);
  float explore = exploration[node.visits - 1];
  if (settings.cpuct_stdev_scale > 0) {
    explore *= static_cast<float>(
        cpuct_stdev_factor(settings.cpuct_stdev_scale, node.value, node.square, node.visits));
  }
  const bool prefer_length =
      settings.moves_left_effect > 0 && std::abs(node.value) > settings.moves_left_threshold;
  const auto virtual_loss = static_cast<float>(settings.virtual_loss);

  std::uint32_t best = 0;
  float best_score = -std::numeric_limits<float>::infinity();
  int best_action = std::numeric_limits<int>::max();
  const auto consider = [&](std::uint32_t index, int action, float score) {
    // The cheap test first: the other order costs 3 % of a search.
    if (score > best_score || (action < best_action && score == best_score)) {
      best = index;
      best_score = score;
      best_action = action;
    }
  };

  float visited_prior = 0;
  bool any_waiting = false;  // children whose first visit waits for the net
  for (std::uint32_t i = 0; i < children.size(); ++i) {
    const Node& child = tree[children[i]];
    if constexpr (kRestricted) {
      if (!allowed->contains(child.action)) continue;
    }
    if (child.visits == 0) {
      any_waiting = true;
      continue;
    }
    visited_prior += child.prior;
    const bool same_side = kActsAgain && child.side == node.side;
    ChildStatistics a{static_cast<float>(same_side ? child.value : -child.value),
                      static_cast<float>(child.visits)};
    if (prefer_length) {
      // One action later, as far from the end in turns as other children that end this turn.
      const float turns = child.moves_left - static_cast<float>(same_side);
      a.q += static_cast<float>(moves_left_utility(settings, a.q, turns, node.moves_left));
    }
    if (child.in_flight > 0) a.add_virtual_loss(virtual_loss * child.in_flight);
    float score = a.q + explore * child.prior / (1.0F + a.visits);
    const bool lost = same_side ? child.high == -1 : child.low == 1;
    if (lost && settings.solver) score -= 1000.0F;  // only if all others are too
    consider(i, child.action, score);
  }

  bool any_unvisited = node.num_children < node.num_edges;
  if constexpr (kRestricted) {
    any_unvisited = any_unvisited && allowed->contains(tree.actions(node)[node.num_children]);
  }
  if (!any_unvisited && !any_waiting) return best;
  const float urgency = first_play_urgency(settings, fpu, node, visited_prior);
  for (std::uint32_t i = 0; any_waiting && i < children.size(); ++i) {
    const Node& child = tree[children[i]];
    if (child.visits > 0) continue;
    if constexpr (kRestricted) {
      if (!allowed->contains(child.action)) continue;
    }
    // Its virtual losses weigh against a quarter of a visit at the urgency.
    const float losses = virtual_loss * child.in_flight;
    const float q = urgency + (-1.0F - urgency) * losses / (losses + 0.25F);
    consider(i, child.action, q + explore * child.prior / (1.0F + losses));
  }
  if (any_unvisited) {
    consider(node.num_children, tree.actions(node)[node.num_children],
             urgency + explore * tree.priors(node)[node.num_children]);
  }
  return best;
}

template <bool kRestricted = false>
std::uint32_t select_puct(const SearchSettings& settings, const ExplorationTable& exploration,
                          const Tree& tree, const Node& node, FpuSettings fpu,
                          const AllowedActions* allowed = nullptr) {
  if (node.acts_again) [[unlikely]] {
    return select_puct_among<kRestricted, true>(settings, exploration, tree, node, fpu, allowed);
  }
  return select_puct_among<kRestricted, false>(settings, exploration, tree, node, fpu, allowed);
}

/// KataGo's forced playouts: the first visited root child, by action, that has fewer visits than
/// sqrt(k * prior * visits of all children).
inline std::optional<std::uint32_t> forced_playout(const SearchSettings& settings, const Tree& tree,
                                                   const Node& root,
                                                   const AllowedActions& allowed) {
  const auto children = tree.children(root);
  const double total = root.visits - 1;
  std::optional<std::uint32_t> forced;
  for (std::uint32_t i = 0; i < children.size(); ++i) {
    const Node& child = tree[children[i]];
    const double wanted = std::sqrt(settings.forced_playouts * child.prior * total);
    if (child.visits > 0 && !child.proven() && allowed.contains(child.action) &&
        child.visits + child.in_flight < wanted &&
        (!forced || child.action < tree[children[*forced]].action)) {
      forced = i;
    }
  }
  return forced;
}

/// Makes the allowed unvisited edge with the highest prior the next one to be visited.
inline void promote_allowed(Tree& tree, Node& root, const AllowedActions& allowed) {
  const auto actions = tree.actions(root);
  const auto priors = tree.priors(root);
  std::uint32_t best = root.num_edges;
  for (std::uint32_t i = root.num_children; i < root.num_edges; ++i) {
    if (!allowed.contains(actions[i])) continue;
    if (best == root.num_edges || priors[i] > priors[best] ||
        (priors[i] == priors[best] && actions[i] < actions[best])) {
      best = i;
    }
  }
  if (best < root.num_edges) tree.promote(root, best);
}

/// Selection at the root of a search; `explore`: with forced playouts.
inline std::uint32_t select_puct_at_root(const SearchSettings& settings,
                                         const ExplorationTable& exploration, Tree& tree,
                                         const AllowedActions& allowed, bool explore) {
  Node& root = tree[tree.root()];
  if (explore && settings.forced_playouts > 0) {
    if (const auto forced = forced_playout(settings, tree, root, allowed)) return *forced;
  }
  const FpuSettings fpu{settings.root_fpu, settings.root_fpu_value};
  if (allowed.all()) return select_puct(settings, exploration, tree, root, fpu);
  promote_allowed(tree, root, allowed);
  return select_puct<true>(settings, exploration, tree, root, fpu, &allowed);
}

}  // namespace zerogames
