#pragma once

// The policy target: what a net learns from the visits of a search, and how far it is from what the
// net said before.

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "zerogames/root_child.hpp"
#include "zerogames/search_settings.hpp"
#include "zerogames/select_puct.hpp"

namespace zerogames {

/// Policy-target pruning: visits without those that only forced playouts and noise caused (KataGo);
/// every child but the most visited is cut to the visits that PUCT would want, given the final
/// values.
inline std::vector<double> pruned_visits(const SearchSettings& settings,
                                         std::span<const RootChild> children) {
  std::vector<double> visits(children.size());
  double total = 0;
  std::size_t best = 0;
  for (std::size_t i = 0; i < children.size(); ++i) {
    visits[i] = children[i].visits;
    total += visits[i];
    if (visits[i] > visits[best]) best = i;
  }
  if (total == 0) return visits;
  const double explore = exploration(settings, total);
  const double target =
      children[best].value + explore * children[best].prior / (1 + children[best].visits);
  for (std::size_t i = 0; i < children.size(); ++i) {
    const double gap = target - children[i].value;
    if (i == best || gap <= 0) continue;
    const double wanted = explore * children[i].prior / gap - 1;
    visits[i] = std::max(0.0, std::ceil(std::min(visits[i], wanted)));
  }
  const double least = std::min(1.0, visits[best] / 64);
  for (double& count : visits) {
    if (count < least) count = 0;
  }
  return visits;
}

inline std::vector<double> visit_counts(std::span<const RootChild> children) {
  std::vector<double> visits;
  for (const RootChild& child : children) visits.push_back(child.visits);
  return visits;
}

/// A proven win: all weight on the best move.
inline std::vector<double> target_of_win(std::span<const RootChild> children) {
  std::vector<double> target(children.size());
  std::size_t best = 0;
  for (std::size_t i = 1; i < children.size(); ++i) {
    if (better_child(children[i], children[best])) best = i;
  }
  target[best] = 1;
  return target;
}

/// Takes the weight of proven losses away, unless nothing else has any.
inline void drop_lost_moves(std::span<const RootChild> children, std::span<double> target) {
  double open = 0;
  for (std::size_t i = 0; i < children.size(); ++i) {
    if (!children[i].lost()) open += target[i];
  }
  for (std::size_t i = 0; i < children.size(); ++i) {
    if (open > 0 && children[i].lost()) target[i] = 0;
  }
}

/// Makes the weights sum to one; without any weight the target is the prior.
inline void normalize_target(std::span<const RootChild> children, std::span<double> target) {
  double total = 0;
  for (const double weight : target) total += weight;
  for (std::size_t i = 0; i < target.size(); ++i) {
    target[i] = total > 0 ? target[i] / total : children[i].prior;
  }
}

/// Relative entropy of `target` to `prior` in nats: how much the search changed the policy.
inline double policy_surprise(std::span<const double> target, std::span<const double> prior) {
  double sum = 0;
  for (std::size_t i = 0; i < target.size(); ++i) {
    if (target[i] > 0) sum += target[i] * std::log(target[i] / std::max(prior[i], 1e-30));
  }
  return std::max(0.0, sum);
}

}  // namespace zerogames
