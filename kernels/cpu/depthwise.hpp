#pragma once

// The board-shaped depthwise convolution and its gradients.
//
// What comes before and after it in a block can be fused: the input may be a batch norm's input
// (normalised and rectified while it is read), the output's moments are summed while it is
// written, and the incoming gradient may be that of a batch norm and ReLU behind the output.

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

/// `out[i] = start + sum over taps of weight[k] * tile[i + sign * shift[k]]`, i < kCount.
template <int kCount>
inline void convolve(const Vec* tile, const Vec* weight, const int* shift, int taps, int sign,
                     const Vec& start, Vec* out) {
  Vec sum[kCount];
  for (int i = 0; i < kCount; ++i) sum[i] = start;
  for (int k = 0; k < taps; ++k) {
    const Vec w = weight[k];
    const Vec* from = tile + sign * shift[k];
    for (int i = 0; i < kCount; ++i) sum[i] += w * from[i];
  }
  for (int i = 0; i < kCount; ++i) out[i] = sum[i];
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

/// Calls `step.operator()<n>(column)` with the pieces of a row that the registers hold.
template <typename Step>
inline void for_row(int width, Step step) {
  int column = 0;
  for (; column + 8 <= width; column += 8) step.template operator()<8>(column);
  if (column + 4 <= width) step.template operator()<4>(column), column += 4;
  for (; column < width; ++column) step.template operator()<1>(column);
}

}  // namespace detail

inline void depthwise_forward(const Plan& plan, const ForwardArgs& args, int threads) {
  const Board& board = plan.board();
  const auto padded = plan.padded();
  const auto weight = plan.pack_weights(args.weight);
  const auto bias = plan.pack(args.bias, 0.0f);
  const auto scale = plan.pack(args.input.scale, 1.0f);
  const auto shift = plan.pack(args.input.shift, 0.0f);
  const bool transform = args.input.scale != nullptr;
  PartialMoments moments(plan);
  std::vector<Scratch> inputs(std::max(threads, 1), Scratch(1, plan.padded_size()));
  std::vector<Scratch> outputs(std::max(threads, 1), Scratch(1, board.positions()));

  for_each_strip(
      plan, threads, [&](const Item& item, std::int64_t image, const Strip& strip, int thread) {
        const auto blocks = plan.blocks(strip);
        Vec* const tiles = inputs[thread].tile(0, 0);
        Vec* const out = outputs[thread].tile(0, 0);
        const int size = plan.padded_size(), positions = board.positions();
        if (transform) {
          const Vec* s = &scale[strip.first];
          const Vec* t = &shift[strip.first];
          read_tiles(board, args.x, image, blocks, [&](int i, int p, const Vec& v) {
            tiles[i * size + padded[p]] = relu(v * s[i] + t[i]);
          });
        } else {
          read_tiles(board, args.x, image, blocks,
                     [&](int i, int p, const Vec& v) { tiles[i * size + padded[p]] = v; });
        }
        const int* shifts = plan.shifts(blocks[0].group).data();
        for (int i = 0; i < strip.count; ++i) {
          const int b = strip.first + i;
          for (int row = 0; row < board.height; ++row) {
            detail::for_row(board.width, [&]<int n>(int column) {
              const int p = row * board.width + column;
              detail::convolve<n>(tiles + i * size + padded[p], &weight[b * plan.taps()], shifts,
                                  plan.taps(), 1, bias[b], out + i * positions + p);
            });
          }
          if (args.mean != nullptr) {
            moments.add(item.chunk, b, out + i * positions, image - item.first);
          }
        }
        if (args.relu) {
          write_tiles(board, args.y, image, blocks,
                      [&](int i, int p) { return relu(out[i * positions + p]); });
        } else {
          write_tiles(board, args.y, image, blocks,
                      [&](int i, int p) { return out[i * positions + p]; });
        }
      });
  if (args.mean != nullptr) moments.write(args.mean, args.variance);
}

inline void depthwise_backward(const Plan& plan, const BackwardArgs& args, int threads) {
  const Board& board = plan.board();
  const int positions = board.positions();
  const int taps = plan.taps();
  const auto padded = plan.padded();
  const auto weight = plan.pack_weights(args.weight);
  const auto out_scale = plan.pack(args.output.scale, 1.0f);
  const auto out_shift = plan.pack(args.output.shift, 0.0f);
  const auto a = plan.pack(args.a, 1.0f), b_ = plan.pack(args.b, 0.0f), d = plan.pack(args.d, 0.0f);
  const auto y_mean = plan.pack(args.y_mean, 0.0f);
  const auto in_scale = plan.pack(args.input.scale, 1.0f);
  const auto in_shift = plan.pack(args.input.shift, 0.0f);
  const auto x_mean = plan.pack(args.x_mean, 0.0f);
  const bool transform = args.input.scale != nullptr;
  PartialSums weight_sums(plan, taps), bias_sums(plan, 1), input_sums(plan, 2);

  std::vector<Scratch> padded_tiles(std::max(threads, 1), Scratch(2, plan.padded_size()));
  std::vector<Scratch> plain_tiles(std::max(threads, 1), Scratch(2, positions));

  for_each_strip(
      plan, threads, [&](const Item& item, std::int64_t image, const Strip& strip, int thread) {
        const auto blocks = plan.blocks(strip);
        const int size = plan.padded_size();
        Vec* const grad_tiles = padded_tiles[thread].tile(0, 0);
        Vec* const x_tiles = padded_tiles[thread].tile(1, 0);
        Vec* const grads = plain_tiles[thread].tile(0, 0);
        Vec* const raws = plain_tiles[thread].tile(1, 0);

        if (args.y != nullptr) {
          read_tiles(board, args.grad, image, blocks,
                     [&](int i, int p, const Vec& v) { grads[i * positions + p] = v; });
          const int f = strip.first;
          read_tiles(board, args.y, image, blocks, [&](int i, int p, const Vec& y) {
            const Vec behind = y * out_scale[f + i] + out_shift[f + i];
            const Vec masked = behind > 0.0f ? grads[i * positions + p] : Vec{};
            grad_tiles[i * size + padded[p]] =
                a[f + i] * masked + b_[f + i] * (y - y_mean[f + i]) + d[f + i];
          });
        } else {
          read_tiles(board, args.grad, image, blocks,
                     [&](int i, int p, const Vec& v) { grad_tiles[i * size + padded[p]] = v; });
        }
        if (transform) {
          const Vec* scale = &in_scale[strip.first];
          const Vec* shift = &in_shift[strip.first];
          read_tiles(board, args.x, image, blocks, [&](int i, int p, const Vec& x) {
            raws[i * positions + p] = x;
            x_tiles[i * size + padded[p]] = relu(x * scale[i] + shift[i]);
          });
        } else if (args.grad_weight != nullptr) {
          read_tiles(board, args.x, image, blocks,
                     [&](int i, int p, const Vec& x) { x_tiles[i * size + padded[p]] = x; });
        }

        const int* shifts = plan.shifts(blocks[0].group).data();
        for (int i = 0; i < strip.count; ++i) {
          const int b = strip.first + i;
          const Vec* grad_tile = grad_tiles + i * size;
          const Vec* x_tile = x_tiles + i * size;
          Vec* grad = grads + i * positions;
          if (args.grad_weight != nullptr) {
            Vec* sums = weight_sums.at(item.chunk, b);
            for (int row = 0; row < board.height; ++row) {
              detail::for_row(board.width, [&]<int n>(int column) {
                const int at = padded[row * board.width + column];
                detail::correlate<n>(x_tile + at, grad_tile + at, shifts, taps, sums);
              });
            }
          }
          if (args.grad_bias != nullptr) {
            Vec sum{};
            for (int p = 0; p < positions; ++p) sum += grad_tile[padded[p]];
            *bias_sums.at(item.chunk, b) += sum;
          }
          if (args.grad_x == nullptr) continue;
          for (int row = 0; row < board.height; ++row) {
            detail::for_row(board.width, [&]<int n>(int column) {
              const int p = row * board.width + column;
              detail::convolve<n>(grad_tile + padded[p], &weight[b * taps], shifts, taps, -1, Vec{},
                                  grad + p);
            });
          }
          if (!transform) continue;
          const Vec mean = x_mean[b];
          const Vec* raw = raws + i * positions;
          Vec sum{}, product{};
          for (int p = 0; p < positions; ++p) {
            const Vec masked = x_tile[padded[p]] > 0.0f ? grad[p] : Vec{};
            sum += masked;
            product += masked * (raw[p] - mean);
            grad[p] = masked;
          }
          Vec* sums = input_sums.at(item.chunk, b);
          sums[0] += sum;
          sums[1] += product;
        }
        if (args.grad_x != nullptr) {
          write_tiles(board, args.grad_x, image, blocks,
                      [&](int i, int p) { return grads[i * positions + p]; });
        }
      });
  if (args.grad_weight != nullptr) weight_sums.write(args.grad_weight);
  if (args.grad_bias != nullptr) bias_sums.write(args.grad_bias);
  if (args.input_sums != nullptr) input_sums.write(args.input_sums);
}

}  // namespace zerogames::kernels
