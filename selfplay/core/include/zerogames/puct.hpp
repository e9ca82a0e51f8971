#pragma once

// The formulas of PUCT search as plain functions on numbers: exploration, first-play urgency, root
// noise, the temperature of the played move, its lower confidence bound, policy-target pruning.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "zerogames/random.hpp"
#include "zerogames/search_settings.hpp"

namespace zerogames {

/// e^x with a relative error below 2e-7 for -87 <= x <= 88, without a call, so that loops over
/// logits vectorise; smaller x gives (almost) zero.
inline float fast_exp(float x) {
  x = std::min(std::max(x, -87.0F), 88.0F);
  const float scaled = x * 1.44269504088896341F;
  const auto whole = static_cast<std::int32_t>(scaled + (scaled < 0 ? -0.5F : 0.5F));
  const auto n = static_cast<float>(whole);
  const float r = (x - n * 0.693359375F) + n * 2.12194440e-4F;  // ln 2 in two parts
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  const float e = p * r * r + r + 1.0F;
  return e * std::bit_cast<float>((whole + 127) << 23);
}

/// Turns logits into probabilities in place; `temperature` divides the logits.
inline void softmax(std::span<float> values, float temperature = 1.0F) {
  float highest = values[0];
  for (const float value : values) highest = std::max(highest, value);
  const float scale = 1.0F / temperature;
  for (float& value : values) value = fast_exp((value - highest) * scale);
  float total = 0;
  for (const float value : values) total += value;
  const float inverse = 1.0F / total;
  for (float& value : values) value *= inverse;
}

/// c of PUCT times the square root of the parent's visits. `child_visits` is their sum.
inline double exploration(const SearchSettings& settings, double child_visits) {
  double logarithm_of = child_visits, root_of = child_visits + 0.01;  // KataGo
  if (settings.puct_visits == PuctVisits::kAlphaZero) {
    logarithm_of = child_visits + 2;
    root_of = child_visits + 1;
  } else if (settings.puct_visits == PuctVisits::kLc0) {
    logarithm_of = child_visits + 1;
    root_of = std::max(child_visits, 1.0);
  }
  double c = settings.cpuct;
  if (settings.cpuct_factor != 0) {
    c += settings.cpuct_factor *
         std::log((logarithm_of + settings.cpuct_base) / settings.cpuct_base);
  }
  return c * std::sqrt(root_of);
}

/// KataGo's dynamic cpuct: more exploration where evaluations disagree. `mean` and `square` are of
/// the node's evaluations, `visits` their number.
inline double stdev_factor(double scale, double mean, double square, double visits) {
  constexpr double kPrior = 0.40, kPriorWeight = 2;
  double sigma = kPrior;
  if (visits > 1) {
    const double second = ((mean * mean + kPrior * kPrior) * kPriorWeight + square * visits) /
                          (kPriorWeight + visits - 1);
    sigma = std::sqrt(std::max(0.0, second - mean * mean));
  }
  return 1 + scale * (sigma / kPrior - 1);
}

/// How much the moves left speak for a child (lc0). `q` is the child's value for the parent's
/// player; the moves left are the child's and the parent's.
inline double moves_left_utility(const SearchSettings& settings, double q, double child_moves_left,
                                 double parent_moves_left) {
  const double threshold = settings.moves_left_threshold;
  const double certain = std::max(0.0, std::abs(q) - threshold) / (1 - threshold);
  const double longer =
      std::clamp(settings.moves_left_slope * (child_moves_left - parent_moves_left),
                 -settings.moves_left_effect, settings.moves_left_effect);
  return longer * (q > 0 ? -1 : 1) * (1.6521 * certain - 0.6521 * certain * certain);
}

/// Shares of the total alpha per legal move; they sum to one.
inline std::vector<double> noise_shares(Noise noise, std::span<const float> priors) {
  const std::size_t count = priors.size();
  std::vector<double> shares(count, 1.0 / static_cast<double>(count));
  if (noise != Noise::kShaped) return shares;
  std::vector<double> logs(count);
  for (std::size_t i = 0; i < count; ++i) {
    logs[i] = std::log(std::min<double>(priors[i], 0.01) + 1e-20);
  }
  const double mean = std::accumulate(logs.begin(), logs.end(), 0.0) / static_cast<double>(count);
  double total = 0;
  for (double& value : logs) total += value = std::max(0.0, value - mean);
  if (total <= 0) return shares;
  for (std::size_t i = 0; i < count; ++i) shares[i] = 0.5 * (logs[i] / total + shares[i]);
  return shares;
}

/// Adds root noise to `priors` in place; no change if all Gamma draws underflow.
inline void add_noise(const SearchSettings& settings, std::span<float> priors, Random& random) {
  if (settings.noise == Noise::kNone || settings.noise_share == 0) return;
  const auto count = static_cast<double>(priors.size());
  double total_alpha = settings.noise_alpha_total;
  if (settings.noise_alpha > 0) {
    total_alpha = settings.noise_alpha * count;
  } else if (settings.noise == Noise::kDirichlet) {
    total_alpha = std::clamp(total_alpha / count, 0.03, 1.5) * count;
  }
  std::vector<double> draws = noise_shares(settings.noise, priors);
  double sum = 0;
  for (double& draw : draws) sum += draw = random.gamma(total_alpha * draw);
  if (!(sum > 1e-300)) return;
  for (std::size_t i = 0; i < priors.size(); ++i) {
    priors[i] = static_cast<float>((1 - settings.noise_share) * priors[i] +
                                   settings.noise_share * draws[i] / sum);
  }
}

/// P^(1/temperature), normalised, in place.
inline void apply_policy_temperature(std::span<float> priors, double temperature) {
  if (temperature == 1) return;
  for (float& prior : priors) prior = std::log(std::max(prior, 1e-38F));
  softmax(priors, static_cast<float>(temperature));
}

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

/// What the choice of a move knows of each root child. Values are the root player's view.
struct RootChild {
  int action = 0;
  double prior = 0;  ///< with noise
  double visits = 0;
  double value = 0;
  double variance = 0;
  int low = -1;  ///< proven bounds, root player's view
  int high = 1;
  double moves_left = 0;
  double draw = 0;

  bool lost() const { return high == -1; }
  bool won() const { return low == 1; }
};

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

/// Visit counts without those that only forced playouts and noise caused (KataGo): every child but
/// the most visited is cut to the visits that PUCT would want, given the final values.
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

/// Relative entropy of `target` to `prior` in nats: how much the search changed the policy.
inline double policy_surprise(std::span<const double> target, std::span<const double> prior) {
  double sum = 0;
  for (std::size_t i = 0; i < target.size(); ++i) {
    if (target[i] > 0) sum += target[i] * std::log(target[i] / std::max(prior[i], 1e-30));
  }
  return std::max(0.0, sum);
}

/// Better first: proven win (shorter first), then visits, value, prior, then proven loss (longer
/// first); the lowest action among equals.
inline bool better_child(const RootChild& a, const RootChild& b) {
  if (a.won() != b.won()) return a.won();
  if (a.won() && a.moves_left != b.moves_left) return a.moves_left < b.moves_left;
  if (a.lost() != b.lost()) return b.lost();
  if (a.lost() && a.moves_left != b.moves_left) return a.moves_left > b.moves_left;
  if (a.visits != b.visits) return a.visits > b.visits;
  if (a.value != b.value) return a.value > b.value;
  if (a.prior != b.prior) return a.prior > b.prior;
  return a.action < b.action;
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
