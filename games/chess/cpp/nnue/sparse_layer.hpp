#pragma once

// The first layer in training: float rows summed by feature lists, and the way back. Threads divide
// the samples forwards and the columns backwards, so no two write to one place.

#include <cstdint>
#include <span>
#include <thread>
#include <vector>

namespace zerogames::sparse {

/// Lists of active features, one after the other: sample i has [offsets[i], offsets[i + 1]).
struct FeatureLists {
  std::span<const std::int32_t> indices;
  std::span<const std::int64_t> offsets;
};

template <class Work>
void in_threads(int threads, Work work) {
  std::vector<std::thread> others;
  for (int number = 1; number < threads; ++number) others.emplace_back(work, number);
  work(0);
  for (std::thread& thread : others) thread.join();
}

/// out[i] = clip(bias + sum of the rows of sample i, 0, 1) for both perspectives side by side;
/// `out` is [samples, 2 * columns].
inline void sparse_forward(const float* weights, const float* bias, std::size_t columns,
                           const FeatureLists (&lists)[2], std::size_t samples, float* out,
                           int threads) {
  in_threads(threads, [&](int number) {
    const std::size_t first = samples * number / threads, last = samples * (number + 1) / threads;
    for (std::size_t sample = first; sample < last; ++sample) {
      for (int half = 0; half < 2; ++half) {
        float* to = out + (2 * sample + half) * columns;
        for (std::size_t k = 0; k < columns; ++k) to[k] = bias[k];
        const auto& [indices, offsets] = lists[half];
        for (auto at = offsets[sample]; at < offsets[sample + 1]; ++at) {
          const float* row = weights + static_cast<std::size_t>(indices[at]) * columns;
          for (std::size_t k = 0; k < columns; ++k) to[k] += row[k];
        }
        for (std::size_t k = 0; k < columns; ++k) {
          to[k] = to[k] < 0.0F ? 0.0F : to[k] > 1.0F ? 1.0F : to[k];
        }
      }
    }
  });
}

/// Adds to the gradients of weights and bias; `out` is what sparse_forward gave and tells where it
/// was clipped.
inline void sparse_backward(const float* out, const float* gradient, std::size_t columns,
                            const FeatureLists (&lists)[2], std::size_t samples,
                            float* weight_gradient, float* bias_gradient, int threads) {
  in_threads(threads, [&](int number) {
    const std::size_t first = columns * number / threads, last = columns * (number + 1) / threads;
    std::vector<float> passed(last - first);
    for (std::size_t sample = 0; sample < samples; ++sample) {
      for (int half = 0; half < 2; ++half) {
        const std::size_t row = (2 * sample + half) * columns;
        for (std::size_t k = first; k < last; ++k) {
          const float value = out[row + k];
          passed[k - first] = value > 0.0F && value < 1.0F ? gradient[row + k] : 0.0F;
          bias_gradient[k] += passed[k - first];
        }
        const auto& [indices, offsets] = lists[half];
        for (auto at = offsets[sample]; at < offsets[sample + 1]; ++at) {
          float* to = weight_gradient + static_cast<std::size_t>(indices[at]) * columns + first;
          for (std::size_t k = 0; k < last - first; ++k) to[k] += passed[k];
        }
      }
    }
  });
}

}  // namespace zerogames::sparse
