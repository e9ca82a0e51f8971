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

/// Tensors of boards have the type Element; parameters, statistics and their gradients are float32.
template <typename Element>
struct ForwardArgs {
  const Element* x;
  Affine input;
  const float* weight;
  const float* bias = nullptr;
  bool relu = false;
  Element* y;
  float* mean = nullptr;
  float* variance = nullptr;
};

template <typename Element>
struct BackwardArgs {
  /// Gradient of the layer's output after ReLU (and batch norm, if `scale` is given).
  const Element* grad;
  /// The convolution's output; null if nothing follows it.
  const Element* y = nullptr;
  Affine output;
  /// Batch norm behind: the gradient becomes `a * masked + b * (y - mean) + d`.
  const float* a = nullptr;
  const float* b = nullptr;
  const float* d = nullptr;
  const float* y_mean = nullptr;
  const Element* x;
  Affine input;
  const float* x_mean = nullptr;
  const float* weight;
  /// Outputs; each may be null. With `input` given, `grad_x` is the gradient behind its ReLU and
  /// `input_sums[C, 2]` its sum and its sum times `x - x_mean`: what the batch norm needs.
  Element* grad_x = nullptr;
  float* grad_weight = nullptr;
  float* grad_bias = nullptr;
  float* input_sums = nullptr;
};

namespace detail {

/// A piece of a row: n squares, whose sums stay in registers. Taps beyond the left or right edge of
/// the board are left out when compiled, so nothing has to be padded.
template <int n, bool kFirst, bool kLast>
struct Piece {
  static constexpr int kSize = n;

  /// The squares whose neighbour `shift` columns away is on the board.
  static constexpr int begin(int shift) { return kFirst ? std::clamp(-shift, 0, n) : 0; }
  static constexpr int end(int shift) { return kLast ? std::clamp(n - shift, 0, n) : n; }
};

inline constexpr int kMaxPiece = 8;

template <bool kFirst, bool kLast, int n = kMaxPiece, typename Body>
inline void with_piece(int size, Body body) {
  // Rows of several pieces are cut into halves or smaller parts, of at least four squares.
  constexpr int kMin = kFirst && kLast ? 1 : kMaxPiece / 2;
  if (n == kMin || size == n) return body(Piece<n, kFirst, kLast>{});
  if constexpr (n > kMin) with_piece<kFirst, kLast, n - 1>(size, body);
}

/// Calls `body(piece, row, column)` for all pieces of the board.
template <typename Body>
inline void for_pieces(const Board& board, Body body) {
  const int pieces = (board.width + kMaxPiece - 1) / kMaxPiece;
  for (int i = 0; i < pieces; ++i) {
    const int column = i * board.width / pieces;
    const int size = (i + 1) * board.width / pieces - column;
    const auto rows = [&](auto piece) {
      for (int row = 0; row < board.height; ++row) body(piece, row, column);
    };
    if (pieces == 1) {
      with_piece<true, true>(size, rows);
    } else if (i == 0) {
      with_piece<true, false>(size, rows);
    } else if (i + 1 < pieces) {
      with_piece<false, false>(size, rows);
    } else {
      with_piece<false, true>(size, rows);
    }
  }
}

/// Calls `body(k, rows, columns)` for the taps k that lead from `row` to a row of the board; the
/// columns come as a constant.
template <int kColumns = -kRadius, typename Body>
[[gnu::always_inline]] inline void for_taps(const Board& board, const Pattern& pattern, int row,
                                            Body body) {
  for (const auto& tap : pattern.columns[kRadius + kColumns]) {
    if (row + tap.row < 0 || row + tap.row >= board.height) continue;
    body(tap.tap, tap.row, std::integral_constant<int, kColumns>{});
  }
  if constexpr (kColumns < kRadius) for_taps<kColumns + 1>(board, pattern, row, body);
}

/// Calls `sink(p, sums)` for each piece, which begins with square p; its sums are
/// `start + sum over taps of weight[k] * from[square moved by tap k]`.
template <typename Sink>
[[gnu::noinline]] void convolve(const Board board, Squares<const float> from,
                                const Pattern& pattern, const Vec* weight, const Vec start,
                                Sink sink) {
  for_pieces(board, [=, &pattern](auto piece, int row, int column) __attribute__((always_inline)) {
    using Piece = decltype(piece);
    Vec sums[Piece::kSize];
    for (Vec& sum : sums) sum = start;
    const int p = row * board.width + column;
    const auto add = [&](int k, int rows, auto columns) __attribute__((always_inline)) {
      const Vec w = weight[k];
      const Squares<const float> there{from.at(p + rows * board.width), from.step};
      for (int i = Piece::begin(columns); i < Piece::end(columns); ++i) {
        sums[i] += w * there[i + columns];
      }
    };
    for_taps(board, pattern, row, add);
    sink(p, sums);
  });
}

/// `sums[k] += sum over squares p of from[p moved by tap k] * grad[p]`.
[[gnu::noinline]] inline void correlate(const Board board, Squares<const float> from,
                                        Squares<const float> grad, const Pattern& pattern,
                                        Vec* sums) {
  for_pieces(board, [=, &pattern](auto piece, int row, int column) __attribute__((always_inline)) {
    using Piece = decltype(piece);
    const int p = row * board.width + column;
    Vec g[Piece::kSize];
    for (int i = 0; i < Piece::kSize; ++i) g[i] = grad[p + i];
    const auto add = [&](int k, int rows, auto columns) __attribute__((always_inline)) {
      const Squares<const float> there{from.at(p + rows * board.width), from.step};
      Vec part[2]{};
      for (int i = Piece::begin(columns); i < Piece::end(columns); ++i) {
        part[i % 2] += g[i] * there[i + columns];
      }
      sums[k] += part[0] + part[1];
    };
    for_taps(board, pattern, row, add);
  });
}

/// The convolution's value in the first corner.
inline Vec first_value(const Board& board, Squares<const float> from, const Pattern& pattern,
                       const Vec* weight, Vec sum) {
  const auto add = [&](int k, int rows, int columns) {
    if (columns < 0 || columns >= board.width) return;
    sum += weight[k] * from[rows * board.width + columns];
  };
  for_taps(board, pattern, 0, add);
  return sum;
}

/// The block that a convolution reads: in the tensor, if that is float32, or in its tile.
template <typename Element>
inline Squares<const float> readable(const Board& board, const Element* tensor, std::int64_t image,
                                     const Block& block, const Vec* tile, bool in_place) {
  if constexpr (std::is_same_v<Element, float>) {
    if (in_place) return squares_of(board, tensor, image, block);
  }
  return squares_of(tile);
}

/// Brings the next image of some tensors into the second cache, in the order of memory, while a
/// tile of this one is worked on. Tiles with the channels last are read in steps of a whole row of
/// channels, which no prefetcher of the processor follows.
template <typename Element, std::size_t n>
class NextImage {
 public:
  NextImage(const Board& board, const Sources<Element, n>& tensors, std::int64_t image,
            const Block& block)
      : at_(tensors) {
    const std::int64_t next = std::min(image + 1, board.batch - 1);
    for (auto& at : at_) at += (next * board.channels + block.channel) * board.positions();
  }

  /// Fetches the vectors that take the place of position `p`, once a cache line. Inlined by force:
  /// as a function it has no effect, and the compiler would drop its calls.
  [[gnu::always_inline]] void fetch(int p) const {
    constexpr int kLine = 64;
    if (p % (kLine / (kLanes * static_cast<int>(sizeof(Element)))) != 0) return;
    for (const Element* at : at_) __builtin_prefetch(at + p * kLanes, 0, 2);
  }

 private:
  Sources<Element, n> at_;
};

}  // namespace detail

template <typename Element>
void depthwise_forward(const Plan& plan, const ForwardArgs<Element>& args, int threads) {
  const Board& board = plan.board();
  const auto weights = plan.pack_weights(args.weight);
  const auto bias = plan.pack(args.bias, 0.0f);
  const auto scales = plan.pack(args.input.scale, 1.0f);
  const auto shifts = plan.pack(args.input.shift, 0.0f);
  const Vec floor = splat(args.relu ? 0.0f : -std::numeric_limits<float>::infinity());
  PartialMoments moments(plan);
  Scratch tiles(threads, kStripBlocks * board.positions());
  Scratch results(threads, board.positions());

  for_each_strip(
      plan.items(), threads,
      [&](const Item& item, std::int64_t image, const Strip& strip, int thread) {
        const auto blocks = plan.blocks(strip);
        const int positions = board.positions();
        Vec* const tile = tiles.of(thread);
        const bool in_place = plan.in_place<Element>(blocks) && args.input.scale == nullptr;
        if (args.input.scale != nullptr) {
          const Vec* const scale = &scales[strip.first];
          const Vec* const shift = &shifts[strip.first];
          read_tiles(board, Sources<Element, 1>{args.x}, image, blocks,
                     [=](int i, int p, const auto& v) {
                       tile[i * positions + p] = relu(v[0] * scale[i] + shift[i]);
                     });
        } else if (!in_place) {
          read_tiles(board, Sources<Element, 1>{args.x}, image, blocks,
                     [=](int i, int p, const auto& v) { tile[i * positions + p] = v[0]; });
        }
        const Pattern& pattern = plan.pattern(blocks[0].group);
        for (int i = 0; i < strip.count; ++i) {
          const int b = strip.first + i;
          const auto x =
              detail::readable(board, args.x, image, blocks[i], tile + i * positions, in_place);
          const Vec* const weight = &weights[b * plan.taps()];
          const Vec start = bias[b];
          write_tile(board, args.y, image, blocks[i], results.of(thread), [&](auto y) {
            const detail::NextImage next(board, Sources<Element, 2>{args.x, args.y}, image,
                                         blocks[i]);
            if (args.mean != nullptr) {
              TileMoments tile_moments;
              tile_moments.pivot = detail::first_value(board, x, pattern, weight, start);
              detail::convolve(board, x, pattern, weight, start, [&](int p, const auto& sums) {
                TileMoments now = tile_moments;
                for (const Vec& v : sums) {
                  now.add(v);
                  next.fetch(p);
                  store(y.at(p++), v);
                }
                tile_moments = now;
              });
              moments.add(item.chunk, b, tile_moments, image - item.first);
            } else {
              detail::convolve(board, x, pattern, weight, start, [=](int p, const auto& sums) {
                for (const Vec& v : sums) {
                  next.fetch(p);
                  store(y.at(p++), v < floor ? floor : v);
                }
              });
            }
          });
        }
      });
  if (args.mean != nullptr) moments.write(args.mean, args.variance);
}

template <typename Element>
void depthwise_backward(const Plan& plan, const BackwardArgs<Element>& args, int threads) {
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
  const Sources<Element, 4> tensors{args.grad, args.x, args.grad_x,
                                    args.y != nullptr ? args.y : args.grad};
  PartialSums weight_sums(plan, plan.taps()), bias_sums(plan, 1), input_sums(plan, 2);
  Scratch grad_scratch(threads, kStripBlocks * board.positions());
  Scratch x_scratch(threads, kStripBlocks * board.positions());
  Scratch raw_scratch(threads, kStripBlocks * board.positions());
  Scratch result_scratch(threads, board.positions());

  for_each_strip(
      plan.items(), threads,
      [&](const Item& item, std::int64_t image, const Strip& strip, int thread) {
        const auto blocks = plan.blocks(strip);
        const int positions = board.positions();
        Vec* const grad_tile = grad_scratch.of(thread);
        Vec* const x_tile = x_scratch.of(thread);
        Vec* const raw_tile = raw_scratch.of(thread);
        const bool grad_in_place = plan.in_place<Element>(blocks) && args.y == nullptr;
        const bool x_in_place = plan.in_place<Element>(blocks) && !transform;

        if (args.y != nullptr) {
          const Vec* const scale = &out_scales[strip.first];
          const Vec* const shift = &out_shifts[strip.first];
          const Vec* const a = &as[strip.first];
          const Vec* const b = &bs[strip.first];
          const Vec* const d = &ds[strip.first];
          const Vec* const mean = &y_means[strip.first];
          read_tiles(board, Sources<Element, 2>{args.grad, args.y}, image, blocks,
                     [=](int i, int p, const auto& v) {
                       const Vec masked = v[1] * scale[i] + shift[i] > 0.0f ? v[0] : Vec{};
                       grad_tile[i * positions + p] =
                           a[i] * masked + b[i] * (v[1] - mean[i]) + d[i];
                     });
        } else if (!grad_in_place) {
          read_tiles(board, Sources<Element, 1>{args.grad}, image, blocks,
                     [=](int i, int p, const auto& v) { grad_tile[i * positions + p] = v[0]; });
        }
        if (transform) {
          const Vec* const scale = &in_scales[strip.first];
          const Vec* const shift = &in_shifts[strip.first];
          read_tiles(board, Sources<Element, 1>{args.x}, image, blocks,
                     [=](int i, int p, const auto& v) {
                       raw_tile[i * positions + p] = v[0];
                       x_tile[i * positions + p] = relu(v[0] * scale[i] + shift[i]);
                     });
        } else if (args.grad_weight != nullptr && !x_in_place) {
          read_tiles(board, Sources<Element, 1>{args.x}, image, blocks,
                     [=](int i, int p, const auto& v) { x_tile[i * positions + p] = v[0]; });
        }

        const int group = blocks[0].group;
        for (int i = 0; i < strip.count; ++i) {
          const int b = strip.first + i;
          const auto grad = detail::readable(board, args.grad, image, blocks[i],
                                             grad_tile + i * positions, grad_in_place);
          const auto x =
              detail::readable(board, args.x, image, blocks[i], x_tile + i * positions, x_in_place);
          if (args.grad_weight != nullptr) {
            detail::correlate(board, x, grad, plan.pattern(group), weight_sums.at(item.chunk, b));
          }
          if (args.grad_bias != nullptr) {
            Vec sum{};
            for (int p = 0; p < positions; ++p) sum += grad[p];
            *bias_sums.at(item.chunk, b) += sum;
          }
          if (args.grad_x == nullptr) continue;
          const Vec* const weight = &weights[b * plan.taps()];
          write_tile(board, args.grad_x, image, blocks[i], result_scratch.of(thread), [&](auto to) {
            const detail::NextImage next(board, tensors, image, blocks[i]);
            const Pattern& mirrored = plan.mirrored(group);
            if (!transform) {
              detail::convolve(board, grad, mirrored, weight, Vec{}, [=](int p, const auto& sums) {
                for (const Vec& v : sums) {
                  next.fetch(p);
                  store(to.at(p++), v);
                }
              });
              return;
            }
            const Vec mean = x_means[b];
            const Vec* const raw = raw_tile + i * positions;
            Vec* const totals = input_sums.at(item.chunk, b);
            detail::convolve(board, grad, mirrored, weight, Vec{}, [=](int p, const auto& sums) {
              Vec sum = totals[0], product = totals[1];
              for (const Vec& v : sums) {
                const Vec masked = x[p] > 0.0f ? v : Vec{};
                sum += masked;
                product += masked * (raw[p] - mean);
                next.fetch(p);
                store(to.at(p++), masked);
              }
              totals[0] = sum;
              totals[1] = product;
            });
          });
        }
      });
  if (args.grad_weight != nullptr) weight_sums.write(args.grad_weight);
  if (args.grad_bias != nullptr) bias_sums.write(args.grad_bias);
  if (args.input_sums != nullptr) input_sums.write(args.input_sums);
}

}  // namespace zerogames::kernels
