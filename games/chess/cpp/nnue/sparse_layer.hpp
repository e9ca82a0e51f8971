#pragma once

// The first layer in training, forward and backward: float rows summed by lists of active features.
// Threads divide the samples in the forward pass and the columns in the backward pass, so no two
// threads write to one place. Columns are processed in strips whose sums stay in registers.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <thread>
#include <vector>

namespace zerogames::sparse {

/// Lists of active features, one after the other: sample i has [offsets[i], offsets[i + 1]).
struct FeatureLists {
  std::span<const std::int32_t> indices;
  std::span<const std::int64_t> offsets;
};

/// A batch of positions for a layer with `columns` outputs per perspective.
struct Batch {
  std::array<FeatureLists, 2> lists;  ///< Of the side to move and of the opponent.
  std::size_t samples = 0;
  std::size_t columns = 0;
};

template <class Work>
void in_threads(int threads, Work work) {
  std::vector<std::thread> others;
  for (int number = 1; number < threads; ++number) others.emplace_back(work, number);
  work(0);
  for (std::thread& thread : others) thread.join();
}

namespace detail {

/// Eight floats anywhere in memory.
using Vec = float __attribute__((vector_size(32), aligned(4), may_alias));
inline constexpr std::size_t kStrip = 8;  ///< vectors of a strip
inline constexpr std::size_t kStripColumns = kStrip * 8;

inline Vec& at(float* to, std::size_t i) { return reinterpret_cast<Vec*>(to)[i]; }
inline const Vec& at(const float* from, std::size_t i) {
  return reinterpret_cast<const Vec*>(from)[i];
}

/// Calls `strip(first)` for whole strips of the columns and `rest(first)` for each column left.
template <class Strip, class Rest>
void for_columns(std::size_t first, std::size_t last, Strip strip, Rest rest) {
  for (; first + kStripColumns <= last; first += kStripColumns) strip(first);
  for (; first < last; ++first) rest(first);
}

}  // namespace detail

/// out[i] = clip(bias + sum of the rows of sample i, 0, 1) for both perspectives side by side;
/// `out` is [samples, 2 * columns].
inline void sparse_forward(const Batch& batch, const float* weights, const float* bias, float* out,
                           int threads) {
  using namespace detail;
  const std::array<FeatureLists, 2>& lists = batch.lists;
  const std::size_t samples = batch.samples, columns = batch.columns;
  in_threads(threads, [&](int number) {
    const std::size_t first = samples * number / threads, last = samples * (number + 1) / threads;
    for (std::size_t sample = first; sample < last; ++sample) {
      for (int half = 0; half < 2; ++half) {
        float* to = out + (2 * sample + half) * columns;
        const auto& [indices, offsets] = lists[half];
        const auto features =
            indices.subspan(offsets[sample], offsets[sample + 1] - offsets[sample]);
        for_columns(
            0, columns,
            [&](std::size_t k) {
              Vec sums[kStrip];
              for (std::size_t i = 0; i < kStrip; ++i) sums[i] = at(bias + k, i);
              for (const std::int32_t feature : features) {
                const float* row = weights + static_cast<std::size_t>(feature) * columns + k;
                for (std::size_t i = 0; i < kStrip; ++i) sums[i] += at(row, i);
              }
              const Vec zero{}, one = zero + 1.0F;
              for (std::size_t i = 0; i < kStrip; ++i) {
                const Vec positive = sums[i] < zero ? zero : sums[i];
                at(to + k, i) = positive > one ? one : positive;
              }
            },
            [&](std::size_t k) {
              float sum = bias[k];
              for (const std::int32_t feature : features) {
                sum += weights[static_cast<std::size_t>(feature) * columns + k];
              }
              to[k] = std::clamp(sum, 0.0F, 1.0F);
            });
      }
    }
  });
}

/// Adds to the gradients of weights and bias; `out` is the result of sparse_forward and shows where
/// it was clipped.
inline void sparse_backward(const Batch& batch, const float* out, const float* gradient,
                            float* weight_gradient, float* bias_gradient, int threads) {
  using namespace detail;
  const std::array<FeatureLists, 2>& lists = batch.lists;
  const std::size_t samples = batch.samples, columns = batch.columns;
  in_threads(threads, [&](int number) {
    const std::size_t first = columns * number / threads, last = columns * (number + 1) / threads;
    for (std::size_t sample = 0; sample < samples; ++sample) {
      for (int half = 0; half < 2; ++half) {
        const std::size_t row = (2 * sample + half) * columns;
        const auto& [indices, offsets] = lists[half];
        const auto features =
            indices.subspan(offsets[sample], offsets[sample + 1] - offsets[sample]);
        for_columns(
            first, last,
            [&](std::size_t k) {
              Vec passed[kStrip];
              const Vec zero{}, one = zero + 1.0F;
              for (std::size_t i = 0; i < kStrip; ++i) {
                const Vec value = at(out + row + k, i);
                passed[i] = (value > zero) & (value < one) ? at(gradient + row + k, i) : zero;
                at(bias_gradient + k, i) += passed[i];
              }
              for (const std::int32_t feature : features) {
                float* to = weight_gradient + static_cast<std::size_t>(feature) * columns + k;
                for (std::size_t i = 0; i < kStrip; ++i) at(to, i) += passed[i];
              }
            },
            [&](std::size_t k) {
              const float value = out[row + k];
              const float passed = value > 0.0F && value < 1.0F ? gradient[row + k] : 0.0F;
              bias_gradient[k] += passed;
              for (const std::int32_t feature : features) {
                weight_gradient[static_cast<std::size_t>(feature) * columns + k] += passed;
              }
            });
      }
    }
  });
}

}  // namespace zerogames::sparse
