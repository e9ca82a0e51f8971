#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "zerogames/hash.hpp"

namespace zerogames {

/// xoshiro256++ with its own distributions: the same seed gives the same numbers everywhere, which
/// the standard library's distributions do not promise.
class Random {
 public:
  explicit Random(std::uint64_t seed = 0) { reseed(seed); }

  void reseed(std::uint64_t seed) {
    for (std::uint64_t& word : state_) word = seed = mix(seed);
  }

  std::uint64_t next() {
    const std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  /// In [0, 1), 53 bits.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  /// In (0, 1), safe for a logarithm.
  double open_uniform() { return (static_cast<double>(next() >> 12) + 0.5) * 0x1p-52; }
  /// 0 <= result < bound; the bias of the multiplication is below 2^-32 for any bound in use.
  std::uint32_t below(std::uint32_t bound) {
    return static_cast<std::uint32_t>(((next() >> 32) * bound) >> 32);
  }

  double exponential() { return -std::log(open_uniform()); }
  double gumbel() { return -std::log(exponential()); }
  double normal() {
    return std::sqrt(2 * exponential()) * std::cos(2 * std::numbers::pi * uniform());
  }

  /// Gamma(shape, 1) by Marsaglia and Tsang; for shape < 1 Gamma(shape + 1) U^(1/shape).
  double gamma(double shape) {
    if (shape < 1) return gamma(shape + 1) * std::pow(open_uniform(), 1 / shape);
    const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
    for (;;) {
      const double x = normal();
      const double root = 1 + c * x;
      if (root <= 0) continue;
      const double v = root * root * root;
      if (std::log(open_uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
    }
  }

 private:
  std::uint64_t state_[4];
};

}  // namespace zerogames
