#pragma once

// Batch norm with ReLU: the passes over memory which no neighbouring convolution can take over.

#include "depthwise.hpp"

namespace zerogames::kernels {

/// Mean and biased variance of every channel.
inline void moments(const Plan& plan, const float* x, float* mean, float* variance, int threads) {
  const int positions = plan.board().positions();
  PartialMoments sums(plan);
  std::vector<Scratch> scratch(std::max(threads, 1), Scratch(1, positions));
  for_each_strip(
      plan, threads, [&](const Item& item, std::int64_t image, const Strip& strip, int thread) {
        Vec* const tiles = scratch[thread].tile(0, 0);
        read_tiles(plan.board(), x, image, plan.blocks(strip),
                   [&](int i, int p, const Vec& v) { tiles[i * positions + p] = v; });
        for (int i = 0; i < strip.count; ++i) {
          sums.add(item.chunk, strip.first + i, tiles + i * positions, image - item.first);
        }
      });
  sums.write(mean, variance);
}

/// `y = relu(x * scale + shift)`, or without the ReLU.
inline void normalise(const Plan& plan, const float* x, const Affine& affine, bool rectify,
                      float* y, int threads) {
  const int positions = plan.board().positions();
  const auto scale = plan.pack(affine.scale, 1.0f), shift = plan.pack(affine.shift, 0.0f);
  std::vector<Scratch> scratch(std::max(threads, 1), Scratch(1, positions));
  for_each_strip(plan, threads,
                 [&](const Item&, std::int64_t image, const Strip& strip, int thread) {
                   Vec* const tiles = scratch[thread].tile(0, 0);
                   const Vec* s = &scale[strip.first];
                   const Vec* t = &shift[strip.first];
                   const auto blocks = plan.blocks(strip);
                   read_tiles(plan.board(), x, image, blocks, [&](int i, int p, const Vec& v) {
                     const Vec value = v * s[i] + t[i];
                     tiles[i * positions + p] = rectify ? relu(value) : value;
                   });
                   write_tiles(plan.board(), y, image, blocks,
                               [&](int i, int p) { return tiles[i * positions + p]; });
                 });
}

/// `sums[C, 2]`: the masked gradient, and the masked gradient times `x - mean`.
inline void gradient_sums(const Plan& plan, const float* grad, const float* x, const Affine& affine,
                          bool rectify, const float* mean, float* sums, int threads) {
  const int positions = plan.board().positions();
  const auto scale = plan.pack(affine.scale, 1.0f), shift = plan.pack(affine.shift, 0.0f);
  const auto centre = plan.pack(mean, 0.0f);
  PartialSums partial(plan, 2);
  std::vector<Scratch> scratch(std::max(threads, 1), Scratch(1, positions));
  for_each_strip(
      plan, threads, [&](const Item& item, std::int64_t image, const Strip& strip, int thread) {
        Vec* const tiles = scratch[thread].tile(0, 0);
        const int f = strip.first;
        const auto blocks = plan.blocks(strip);
        Vec sum[kStripBlocks] = {}, product[kStripBlocks] = {};
        read_tiles(plan.board(), grad, image, blocks,
                   [&](int i, int p, const Vec& g) { tiles[i * positions + p] = g; });
        read_tiles(plan.board(), x, image, blocks, [&](int i, int p, const Vec& v) {
          const Vec g = tiles[i * positions + p];
          const Vec masked = !rectify ? g : v * scale[f + i] + shift[f + i] > 0.0f ? g : Vec{};
          sum[i] += masked;
          product[i] += masked * (v - centre[f + i]);
        });
        for (int i = 0; i < strip.count; ++i) {
          Vec* to = partial.at(item.chunk, f + i);
          to[0] += sum[i];
          to[1] += product[i];
        }
      });
  partial.write(sums);
}

/// `grad_x = a * masked gradient + b * (x - mean) + d`; `grad_x` may be `grad`.
inline void gradient_apply(const Plan& plan, const float* grad, const float* x,
                           const Affine& affine, bool rectify, const float* a, const float* b_,
                           const float* d, const float* mean, float* grad_x, int threads) {
  const int positions = plan.board().positions();
  const auto scale = plan.pack(affine.scale, 1.0f), shift = plan.pack(affine.shift, 0.0f);
  const auto pa = plan.pack(a, 1.0f), pb = plan.pack(b_, 0.0f), pd = plan.pack(d, 0.0f);
  const auto centre = plan.pack(mean, 0.0f);
  std::vector<Scratch> scratch(std::max(threads, 1), Scratch(1, positions));
  for_each_strip(
      plan, threads, [&](const Item&, std::int64_t image, const Strip& strip, int thread) {
        Vec* const tiles = scratch[thread].tile(0, 0);
        const int f = strip.first;
        const auto blocks = plan.blocks(strip);
        read_tiles(plan.board(), grad, image, blocks,
                   [&](int i, int p, const Vec& g) { tiles[i * positions + p] = g; });
        read_tiles(plan.board(), x, image, blocks, [&](int i, int p, const Vec& v) {
          const Vec g = tiles[i * positions + p];
          const Vec masked = !rectify ? g : v * scale[f + i] + shift[f + i] > 0.0f ? g : Vec{};
          tiles[i * positions + p] =
              pa[f + i] * masked + pb[f + i] * (v - centre[f + i]) + pd[f + i];
        });
        write_tiles(plan.board(), grad_x, image, blocks,
                    [&](int i, int p) { return tiles[i * positions + p]; });
      });
}

}  // namespace zerogames::kernels
