#pragma once

// Batch norm with ReLU: the passes over memory that are not fused into a neighbouring convolution.

#include <limits>

#include "depthwise.hpp"

namespace zerogames::kernels {

/// Mean and biased variance of every channel.
template <typename Element>
void moments(const Plan& plan, const Element* x, float* mean, float* variance, int threads) {
  PartialMoments sums(plan);
  const int max_blocks = static_cast<int>(plan.blocks().size());
  std::vector<TileMoments> scratch(static_cast<std::size_t>(std::max(threads, 1)) * max_blocks);
  for_each_strip(plan.run_items(), threads,
                 [&](const Item& item, std::int64_t image, const Strip& strip, int thread) {
                   TileMoments* const tiles = &scratch[thread * max_blocks];
                   read_tiles(plan.board(), Sources<Element, 1>{x}, image, plan.blocks(strip),
                              [=](int i, int p, const auto& v) {
                                if (p == 0) tiles[i] = {.pivot = v[0]};
                                tiles[i].add(v[0]);
                              });
                   for (int i = 0; i < strip.count; ++i) {
                     sums.add(item.chunk, strip.first + i, tiles[i], image - item.first);
                   }
                 });
  sums.write(mean, variance);
}

/// `y = relu(x * scale + shift)`, or without the ReLU.
template <typename Element>
void normalise(const Plan& plan, const Element* x, const Affine& affine, bool rectify, Element* y,
               int threads) {
  const auto scales = plan.pack(affine.scale, 1.0f), shifts = plan.pack(affine.shift, 0.0f);
  const float floor = rectify ? 0.0f : -std::numeric_limits<float>::infinity();
  for_each_strip(plan.run_items(), threads,
                 [&](const Item&, std::int64_t image, const Strip& strip, int) {
                   const Vec* const scale = &scales[strip.first];
                   const Vec* const shift = &shifts[strip.first];
                   map_tiles<true>(plan.board(), Sources<Element, 1>{x}, y, image,
                                   plan.blocks(strip), [=](int i, int, const auto& v) {
                                     const Vec value = v[0] * scale[i] + shift[i];
                                     return value < floor ? Vec{} : value;
                                   });
                 });
}

/// What the backward pass of a batch norm reads. The masked gradient is `grad` where the forward
/// pass was not cut off by the ReLU.
template <typename Element>
struct NormGradient {
  const Element* grad;
  const Element* x;
  Affine affine;
  bool rectify;
  const float* mean;
};

/// Coefficients `[C]` of the gradient of a batch norm's input:
/// `a * masked gradient + b * (x - mean) + d`.
struct InputGradient {
  const float* a;
  const float* b;
  const float* d;
};

/// `sums[C, 2]`: the masked gradient, and the masked gradient times `x - mean`.
template <typename Element>
void gradient_sums(const Plan& plan, const NormGradient<Element>& norm, float* sums, int threads) {
  const Element *const grad = norm.grad, *const x = norm.x;
  const auto scales = plan.pack(norm.affine.scale, 1.0f);
  const auto shifts = plan.pack(norm.affine.shift, 0.0f);
  const auto means = plan.pack(norm.mean, 0.0f);
  PartialSums partial(plan, 2);
  const float floor = norm.rectify ? 0.0f : -std::numeric_limits<float>::infinity();
  for_each_strip(plan.run_items(), threads,
                 [&](const Item& item, std::int64_t image, const Strip& strip, int) {
                   const Vec* const scale = &scales[strip.first];
                   const Vec* const shift = &shifts[strip.first];
                   const Vec* const centre = &means[strip.first];
                   Vec* const to = partial.at(item.chunk, strip.first);
                   read_tiles(plan.board(), Sources<Element, 2>{grad, x}, image, plan.blocks(strip),
                              [=](int i, int, const auto& v) {
                                const Vec masked =
                                    v[1] * scale[i] + shift[i] > floor ? v[0] : Vec{};
                                to[2 * i] += masked;
                                to[2 * i + 1] += masked * (v[1] - centre[i]);
                              });
                 });
  partial.write(sums);
}

/// Writes the gradient of the input; `grad_x` may be `grad`.
template <typename Element>
void gradient_apply(const Plan& plan, const NormGradient<Element>& norm,
                    const InputGradient& coefficients, Element* grad_x, int threads) {
  const Element *const grad = norm.grad, *const x = norm.x;
  const auto& [a, b, d] = coefficients;
  const auto scales = plan.pack(norm.affine.scale, 1.0f);
  const auto shifts = plan.pack(norm.affine.shift, 0.0f);
  const auto as = plan.pack(a, 1.0f), bs = plan.pack(b, 0.0f), ds = plan.pack(d, 0.0f);
  const auto means = plan.pack(norm.mean, 0.0f);
  const float floor = norm.rectify ? 0.0f : -std::numeric_limits<float>::infinity();
  for_each_strip(
      plan.run_items(), threads, [&](const Item&, std::int64_t image, const Strip& strip, int) {
        const int f = strip.first;
        const Vec *const scale = &scales[f], *const shift = &shifts[f], *const centre = &means[f];
        const Vec *const ka = &as[f], *const kb = &bs[f], *const kd = &ds[f];
        map_tiles<true>(plan.board(), Sources<Element, 2>{grad, x}, grad_x, image,
                        plan.blocks(strip), [=](int i, int, const auto& v) {
                          const Vec masked = v[1] * scale[i] + shift[i] > floor ? v[0] : Vec{};
                          return ka[i] * masked + kb[i] * (v[1] - centre[i]) + kd[i];
                        });
      });
}

}  // namespace zerogames::kernels
