#pragma once

// The move to play after a search: temperature schedule, lower confidence bound, sampling.

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "zerogames/random.hpp"
#include "zerogames/root_child.hpp"
#include "zerogames/search_settings.hpp"

namespace zerogames {

/// The temperature of the move played at `ply`.
inline double temperature_at(const SearchSettings& settings, int ply) {
  const double early = settings.temperature, last = settings.temperature_final;
  switch (settings.temperature_schedule) {
    case TemperatureSchedule::kStep:
      return ply < settings.temperature_plies ? early : last;
    case TemperatureSchedule::kLinear: {
      const double gone = (ply - settings.temperature_plies) / settings.temperature_decay_plies;
      return gone <= 0 ? early : std::max(last, early * (1 - std::min(1.0, gone)));
    }
    case TemperatureSchedule::kHalfLife:
      return last + (early - last) * std::pow(0.5, ply / settings.temperature_decay_plies);
  }
  return early;
}

/// Weights after KataGo's lower-confidence-bound rule: the child with the best bound among those
/// with enough visits gets at least the weight that its lead deserves.
inline std::vector<double> lcb_weights(std::span<const RootChild> children,
                                       std::vector<double> weights, double stdevs,
                                       double min_share) {
  const std::size_t count = children.size();
  double most = 0;
  for (const double weight : weights) most = std::max(most, weight);
  std::vector<double> bound(count), radius(count);
  std::size_t best = count;
  for (std::size_t i = 0; i < count; ++i) {
    const double n = children[i].visits;
    if (n < 1) continue;
    const double prior_weight = 1 / (n * n);
    const double variance = children[i].variance + prior_weight / (n + prior_weight);
    const double effective =
        (n + prior_weight) * (n + prior_weight) / (n + prior_weight * prior_weight);
    radius[i] = stdevs * std::sqrt(variance / effective);
    bound[i] = children[i].value - radius[i];
    if (weights[i] > 0 && weights[i] >= min_share * most &&
        (best == count || bound[i] > bound[best])) {
      best = i;
    }
  }
  if (best == count) return weights;
  double raised = weights[best];
  for (std::size_t i = 0; i < count; ++i) {
    const double lead = bound[best] - bound[i];
    if (i == best || children[i].visits < 1 || lead < 0) continue;
    const double factor = (radius[i] + lead) / (radius[i] + 0.2 * lead);
    raised = std::max(raised, factor * factor * weights[i]);
  }
  weights[best] = raised;
  return weights;
}

/// The index drawn with probability proportional to weight^(1/temperature).
inline std::size_t sample_weights(std::span<const double> weights, double temperature,
                                  Random& random) {
  double most = 0;
  for (const double weight : weights) most = std::max(most, weight);
  std::vector<double> powers(weights.size());
  double total = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] > 0) total += powers[i] = std::pow(weights[i] / most, 1 / temperature);
  }
  double left = random.uniform() * total;
  std::size_t last = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (powers[i] <= 0) continue;
    last = i;
    if ((left -= powers[i]) < 0) break;
  }
  return last;
}

/// The index of the move to play. `weights` are visits, perhaps pruned or raised by the bound.
inline std::size_t choose_child(const SearchSettings& settings, std::span<const RootChild> children,
                                std::vector<double> weights, double temperature, Random& random) {
  std::size_t best = 0;
  bool any_open = false;
  for (std::size_t i = 0; i < children.size(); ++i) {
    if (better_child(children[i], children[best])) best = i;
    any_open = any_open || (!children[i].lost() && weights[i] > 0);
  }
  if (children[best].won() || !any_open) return best;
  double most = 0, best_value = -1;
  for (std::size_t i = 0; i < children.size(); ++i) {
    if (children[i].lost()) weights[i] = 0;
    most = std::max(most, weights[i]);
  }
  for (std::size_t i = 0; i < children.size(); ++i) {
    if (weights[i] == most) best_value = std::max(best_value, children[i].value);
  }
  if (temperature <= 1e-4) {
    std::size_t chosen = children.size();
    for (std::size_t i = 0; i < children.size(); ++i) {
      if (weights[i] != most) continue;
      if (chosen == children.size() || better_child(children[i], children[chosen])) chosen = i;
    }
    return chosen;
  }
  for (std::size_t i = 0; i < children.size(); ++i) {
    if (weights[i] < std::min(1.0, most / 64) ||
        children[i].value < best_value - settings.temperature_value_cutoff) {
      weights[i] = 0;
    }
  }
  return sample_weights(weights, temperature, random);
}

}  // namespace zerogames
