#pragma once

// The board-shaped depthwise convolution and its gradients.
//
// What comes before and after it in a block can be fused: the input may be a batch norm's input
// (normalised and rectified while it is read), the output's moments are summed while it is
// written, and the incoming gradient may be that of a batch norm and ReLU behind the output.

#include <limits>

#include "plan.hpp"

namespace zerogames::kernels {

/// Batch norm and ReLU as the kernels apply it: `relu(value * scale + shift)`.
struct Affine {
  const float* scale = nullptr;
  const float* shift = nullptr;
};

struct ForwardArgs {
  const float* x;
  Affine input;
  const float* weight;
  const float* bias = nullptr;
  bool relu = false;
  float* y;
  float* mean = nullptr;
  float* variance = nullptr;
};

struct BackwardArgs {
  /// Gradient of the layer's output after ReLU (and batch norm, if `scale` is given).
  const float* grad;
  /// The convolution's output; null if nothing follows it.
  const float* y = nullptr;
  Affine output;
  /// Batch norm behind: the gradient becomes `a * masked + b * (y - mean) + d`.
  const float* a = nullptr;
  const float* b = nullptr;
  const float* d = nullptr;
  const float* y_mean = nullptr;
  const float* x;
  Affine input;
  const float* x_mean = nullptr;
  const float* weight;
  /// Outputs; each may be null. With `input` given, `grad_x` is the gradient behind its ReLU and
  /// `input_sums[C, 2]` its sum and its sum times `x - x_mean`: what the batch norm needs.
  float* grad_x = nullptr;
  float* grad_weight = nullptr;
  float* grad_bias = nullptr;
  float* input_sums = nullptr;
};

namespace detail {

/// `sink(p + i, start + sum over taps of weight[k] * tile[i + sign * shift[k]])`, i < kCount.
template <int kCount, int kTaps = 0, typename Sink>
inline void convolve(const Vec* tile, const Vec* weight, const int* shift, int taps, int sign,
                     const Vec& start, int p, Sink& sink) {
  if constexpr (kTaps > 0) taps = kTaps;
  Vec sum[kCount];
  for (int i = 0; i < kCount; ++i) sum[i] = start;
  for (int k = 0; k < taps; ++k) {
    const Vec w = weight[k];
    const Vec* from = tile + sign * shift[k];
    for (int i = 0; i < kCount; ++i) sum[i] += w * from[i];
  }
  for (int i = 0; i < kCount; ++i) sink(p + i, sum[i]);
}

/// `sums[k] += sum over i < kCount of tile[i + shift[k]] * grad[i]`.
template <int kCount>
inline void correlate(const Vec* tile, const Vec* grad, const int* shift, int taps, Vec* sums) {
  Vec g[kCount];
  for (int i = 0; i < kCount; ++i) g[i] = grad[i];
  for (int k = 0; k < taps; ++k) {
    const Vec* from = tile + shift[k];
    Vec even{}, odd{};
    for (int i = 0; i < kCount; i += 2) {
      even += g[i] * from[i];
      if (i + 1 < kCount) odd += g[i + 1] * from[i + 1];
    }
    sums[k] += even + odd;
  }
}

/// Calls `step.operator()<n>(position)` for the pieces of the board's rows that registers hold.
template <typename Step>
inline void for_rows(const Board& board, Step step) {
  for (int row = 0; row < board.height; ++row) {
    int p = row * board.width;
    const int end = p + board.width;
    for (; p + 8 <= end; p += 8) step.template operator()<8>(p);
    for (; p + 4 <= end; p += 4) step.template operator()<4>(p);
    for (; p < end; ++p) step.template operator()<1>(p);
  }
}

/// Brings the next image of some tensors into the second cache, in the order of memory, while a
/// tile of this one is worked on. Tiles with the channels last are read in steps of a whole row of
/// channels, which no prefetcher of the processor follows.
template <std::size_t n>
class NextImage {
 public:
  NextImage(const Board& board, const Sources<n>& tensors, std::int64_t image, const Block& block)
      : at_(tensors) {
    const std::int64_t next = std::min(image + 1, board.batch - 1);
    for (auto& at : at_) at += (next * board.channels + block.channel) * board.positions();
  }

  /// Fetches the vectors that take the place of position `p`, once a cache line. Inlined by force:
  /// as a function it has no effect, and the compiler would drop its calls.
  [[gnu::always_inline]] void fetch(int p) const {
    if (p % (16 / kLanes) != 0) return;
    for (const float* at : at_) __builtin_prefetch(at + p * kLanes, 0, 2);
  }

 private:
  Sources<n> at_;
};

/// Convolves a whole padded tile.
template <typename Sink>
[[gnu::noinline]] void convolve_tile(const Plan& plan, const Vec* tile, const Vec* weight,
                                     const int* shift, int sign, const Vec& start, Sink sink) {
  const int taps = plan.taps();
  const int* padded = plan.padded().data();
  if (taps == 9) {
    for_rows(plan.board(), [=]<int n>(int p) {
      convolve<n, 9>(tile + padded[p], weight, shift, taps, sign, start, p, sink);
    });
    return;
  }
  for_rows(plan.board(), [=]<int n>(int p) {
    convolve<n>(tile + padded[p], weight, shift, taps, sign, start, p, sink);
  });
}

}  // namespace detail

inline void depthwise_forward(const Plan& plan, const ForwardArgs& args, int threads) {
  const Board& board = plan.board();
  const auto weights = plan.pack_weights(args.weight);
  const auto bias = plan.pack(args.bias, 0.0f);
  const auto scales = plan.pack(args.input.scale, 1.0f);
  const auto shifts = plan.pack(args.input.shift, 0.0f);
  PartialMoments moments(plan);
  Scratch padded_tiles(threads, kStripBlocks * plan.padded_size());
  Scratch plain_tiles(threads, board.positions());

  for_each_strip(
      plan.items(), threads,
      [&](const Item& item, std::int64_t image, const Strip& strip, int thread) {
        const auto blocks = plan.blocks(strip);
        const int size = plan.padded_size(), taps = plan.taps();
        const int* const padded = plan.padded().data();
        Vec* const tiles = padded_tiles.of(thread);
        if (args.input.scale != nullptr) {
          const Vec* const scale = &scales[strip.first];
          const Vec* const shift = &shifts[strip.first];
          read_tiles(board, Sources<1>{args.x}, image, blocks, [=](int i, int p, const auto& v) {
            tiles[i * size + padded[p]] = relu(v[0] * scale[i] + shift[i]);
          });
        } else {
          read_tiles(board, Sources<1>{args.x}, image, blocks,
                     [=](int i, int p, const auto& v) { tiles[i * size + padded[p]] = v[0]; });
        }
        const int* const shift = plan.shifts(blocks[0].group).data();
        for (int i = 0; i < strip.count; ++i) {
          const int b = strip.first + i;
          const Vec* const tile = tiles + i * size;
          const Vec* const weight = &weights[b * taps];
          const Vec start = bias[b];
          write_tile(board, args.y, image, blocks[i], plain_tiles.of(thread), [&](auto sink) {
            const detail::NextImage next(board, Sources<2>{args.x, args.y}, image, blocks[i]);
            if (args.mean != nullptr) {
              TileMoments tile_moments;
              const auto set_pivot = [&](int, const Vec& v) { tile_moments.pivot = v; };
              detail::convolve<1>(tile + padded[0], weight, shift, taps, 1, start, 0, set_pivot);
              detail::convolve_tile(plan, tile, weight, shift, 1, start, [&](int p, const Vec& v) {
                tile_moments.add(v);
                next.fetch(p);
                sink(p, v);
              });
              moments.add(item.chunk, b, tile_moments, image - item.first);
            } else {
              const Vec floor = splat(args.relu ? 0.0f : -std::numeric_limits<float>::infinity());
              detail::convolve_tile(plan, tile, weight, shift, 1, start, [=](int p, const Vec& v) {
                next.fetch(p);
                sink(p, v < floor ? floor : v);
              });
            }
          });
        }
      });
  if (args.mean != nullptr) moments.write(args.mean, args.variance);
}

inline void depthwise_backward(const Plan& plan, const BackwardArgs& args, int threads) {
  const Board& board = plan.board();
  const auto weights = plan.pack_weights(args.weight);
  const auto out_scales = plan.pack(args.output.scale, 1.0f);
  const auto out_shifts = plan.pack(args.output.shift, 0.0f);
  const auto as = plan.pack(args.a, 1.0f), bs = plan.pack(args.b, 0.0f);
  const auto ds = plan.pack(args.d, 0.0f), y_means = plan.pack(args.y_mean, 0.0f);
  const auto in_scales = plan.pack(args.input.scale, 1.0f);
  const auto in_shifts = plan.pack(args.input.shift, 0.0f);
  const auto x_means = plan.pack(args.x_mean, 0.0f);
  const bool transform = args.input.scale != nullptr;
  const Sources<4> tensors{args.grad, args.x, args.grad_x, args.y != nullptr ? args.y : args.grad};
  PartialSums weight_sums(plan, plan.taps()), bias_sums(plan, 1), input_sums(plan, 2);
  Scratch grad_scratch(threads, kStripBlocks * plan.padded_size());
  Scratch x_scratch(threads, kStripBlocks * plan.padded_size());
  Scratch raw_scratch(threads, kStripBlocks * board.positions());
  Scratch plain_scratch(threads, board.positions());

  for_each_strip(
      plan.items(), threads,
      [&](const Item& item, std::int64_t image, const Strip& strip, int thread) {
        const auto blocks = plan.blocks(strip);
        const int size = plan.padded_size(), positions = board.positions(), taps = plan.taps();
        const int* const padded = plan.padded().data();
        Vec* const grad_tiles = grad_scratch.of(thread);
        Vec* const x_tiles = x_scratch.of(thread);
        Vec* const raws = raw_scratch.of(thread);

        if (args.y != nullptr) {
          const Vec* const scale = &out_scales[strip.first];
          const Vec* const shift = &out_shifts[strip.first];
          const Vec* const a = &as[strip.first];
          const Vec* const b = &bs[strip.first];
          const Vec* const d = &ds[strip.first];
          const Vec* const mean = &y_means[strip.first];
          read_tiles(board, Sources<2>{args.grad, args.y}, image, blocks,
                     [=](int i, int p, const auto& v) {
                       const Vec masked = v[1] * scale[i] + shift[i] > 0.0f ? v[0] : Vec{};
                       grad_tiles[i * size + padded[p]] =
                           a[i] * masked + b[i] * (v[1] - mean[i]) + d[i];
                     });
        } else {
          read_tiles(board, Sources<1>{args.grad}, image, blocks,
                     [=](int i, int p, const auto& v) { grad_tiles[i * size + padded[p]] = v[0]; });
        }
        if (transform) {
          const Vec* const scale = &in_scales[strip.first];
          const Vec* const shift = &in_shifts[strip.first];
          read_tiles(board, Sources<1>{args.x}, image, blocks, [=](int i, int p, const auto& v) {
            raws[i * positions + p] = v[0];
            x_tiles[i * size + padded[p]] = relu(v[0] * scale[i] + shift[i]);
          });
        } else if (args.grad_weight != nullptr) {
          read_tiles(board, Sources<1>{args.x}, image, blocks,
                     [=](int i, int p, const auto& v) { x_tiles[i * size + padded[p]] = v[0]; });
        }

        const int* const shift = plan.shifts(blocks[0].group).data();
        for (int i = 0; i < strip.count; ++i) {
          const int b = strip.first + i;
          const Vec* const grad_tile = grad_tiles + i * size;
          const Vec* const x_tile = x_tiles + i * size;
          if (args.grad_weight != nullptr) {
            Vec* const sums = weight_sums.at(item.chunk, b);
            detail::for_rows(board, [=]<int n>(int p) {
              detail::correlate<n>(x_tile + padded[p], grad_tile + padded[p], shift, taps, sums);
            });
          }
          if (args.grad_bias != nullptr) {
            Vec sum{};
            for (int p = 0; p < positions; ++p) sum += grad_tile[padded[p]];
            *bias_sums.at(item.chunk, b) += sum;
          }
          if (args.grad_x == nullptr) continue;
          const Vec* const weight = &weights[b * taps];
          write_tile(board, args.grad_x, image, blocks[i], plain_scratch.of(thread),
                     [&](auto sink) {
                       const detail::NextImage next(board, tensors, image, blocks[i]);
                       if (!transform) {
                         detail::convolve_tile(plan, grad_tile, weight, shift, -1, Vec{},
                                               [=](int p, const Vec& v) {
                                                 next.fetch(p);
                                                 sink(p, v);
                                               });
                         return;
                       }
                       const Vec mean = x_means[b];
                       const Vec* const raw = raws + i * positions;
                       Vec sum{}, product{};
                       detail::convolve_tile(
                           plan, grad_tile, weight, shift, -1, Vec{}, [&](int p, const Vec& v) {
                             const Vec masked = x_tile[padded[p]] > 0.0f ? v : Vec{};
                             sum += masked;
                             product += masked * (raw[p] - mean);
                             next.fetch(p);
                             sink(p, masked);
                           });
                       Vec* const sums = input_sums.at(item.chunk, b);
                       sums[0] += sum;
                       sums[1] += product;
                     });
        }
      });
  if (args.grad_weight != nullptr) weight_sums.write(args.grad_weight);
  if (args.grad_bias != nullptr) bias_sums.write(args.grad_bias);
  if (args.input_sums != nullptr) input_sums.write(args.input_sums);
}

}  // namespace zerogames::kernels
