#pragma once

// Dirichlet noise on the root's priors, plain (AlphaZero) or shaped by the priors (KataGo).

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "zerogames/random.hpp"
#include "zerogames/search_settings.hpp"

namespace zerogames {

/// Share of the total Dirichlet alpha that each legal move gets; the shares sum to one.
inline std::vector<double> dirichlet_alpha_shares(Noise noise, std::span<const float> priors) {
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
inline void add_dirichlet_noise(const SearchSettings& settings, std::span<float> priors,
                                Random& random) {
  if (settings.noise == Noise::kNone || settings.noise_share == 0) return;
  const auto count = static_cast<double>(priors.size());
  double total_alpha = settings.noise_alpha_total;
  if (settings.noise_alpha > 0) {
    total_alpha = settings.noise_alpha * count;
  } else if (settings.noise == Noise::kDirichlet) {
    total_alpha = std::clamp(total_alpha / count, 0.03, 1.5) * count;
  }
  std::vector<double> draws = dirichlet_alpha_shares(settings.noise, priors);
  double sum = 0;
  for (double& draw : draws) sum += draw = random.gamma(total_alpha * draw);
  if (!(sum > 1e-300)) return;
  for (std::size_t i = 0; i < priors.size(); ++i) {
    priors[i] = static_cast<float>((1 - settings.noise_share) * priors[i] +
                                   settings.noise_share * draws[i] / sum);
  }
}

}  // namespace zerogames
