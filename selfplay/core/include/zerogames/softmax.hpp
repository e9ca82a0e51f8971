#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>

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

/// Flattens probabilities (temperature > 1) or sharpens them: p^(1/temperature), normalised, in
/// place.
inline void apply_policy_temperature(std::span<float> priors, double temperature) {
  if (temperature == 1) return;
  for (float& prior : priors) prior = std::log(std::max(prior, 1e-38F));
  softmax(priors, static_cast<float>(temperature));
}

}  // namespace zerogames
