#pragma once

#include <bit>
#include <cstdint>

namespace zerogames {

/// SplitMix64's finaliser: a bijection that spreads every input bit over the output.
constexpr std::uint64_t mix(std::uint64_t value) {
  value += 0x9E3779B97F4A7C15ULL;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ULL;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBULL;
  return value ^ (value >> 31);
}

/// Adds one more value to a hash; order matters, also in hash_combine(mix(a), b).
constexpr std::uint64_t hash_combine(std::uint64_t hash, std::uint64_t value) {
  return mix(std::rotl(hash, 23) ^ mix(value));
}
static_assert(hash_combine(mix(1), 2) != hash_combine(mix(2), 1));

}  // namespace zerogames
