#pragma once

// Tiles: the part of one image that a vector register's worth of channels covers, as
// `[position][lane]`. Both memory formats are read into the same tile, so every kernel is written
// once. With the channels last a tile row is one load; with the planes contiguous a square of
// positions and lanes is transposed in registers. A tile is float32 whatever the tensor's elements
// are.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "vec.hpp"

#ifdef _OPENMP
#include <omp.h>
#endif

namespace zerogames::kernels {

inline Vec load_lanes(const float* from, int lanes) {
  Vec v{};
  std::memcpy(&v, from, static_cast<std::size_t>(lanes) * sizeof(float));
  return v;
}
inline void store_lanes(float* to, const Vec& v, int lanes) {
  std::memcpy(to, &v, static_cast<std::size_t>(lanes) * sizeof(float));
}

inline Vec load_lanes(const Bfloat16* from, int lanes) {
  Halves halves{};
  std::memcpy(&halves, from, static_cast<std::size_t>(lanes) * sizeof(Bfloat16));
  return widen(halves);
}
inline void store_lanes(Bfloat16* to, const Vec& v, int lanes) {
  const Halves halves = narrow(v);
  std::memcpy(to, &halves, static_cast<std::size_t>(lanes) * sizeof(Bfloat16));
}

template <int... I>
inline void interleave(const Vec& a, const Vec& b, Vec& low, Vec& high,
                       std::integer_sequence<int, I...>) {
  low = __builtin_shufflevector(a, b, ((I % 2) * kLanes + I / 2)...);
  high = __builtin_shufflevector(a, b, ((I % 2) * kLanes + I / 2 + kLanes / 2)...);
}

/// Transposes a square of lanes: log2(lanes) perfect shuffles.
inline void transpose(std::array<Vec, kLanes>& rows) {
  for (int stage = 1; stage < kLanes; stage *= 2) {
    std::array<Vec, kLanes> next;
    for (int i = 0; i < kLanes / 2; ++i) {
      interleave(rows[i], rows[i + kLanes / 2], next[2 * i], next[2 * i + 1],
                 std::make_integer_sequence<int, kLanes>());
    }
    rows = next;
  }
}

struct Board {
  std::int64_t batch = 0;
  std::int64_t channels = 0;
  int height = 0;
  int width = 0;
  bool channels_last = false;

  int positions() const { return height * width; }
};

/// Up to kLanes adjacent channels of one group.
struct Block {
  std::int64_t channel;
  int lanes;
  int group;
};

/// Blocks that a convolution reads together: with the channels last, a row of a tile is then a few
/// adjacent cache lines, not half of one.
inline constexpr int kStripBlocks = 32 / kLanes;

/// Tensors of one shape that are read in step.
template <typename Element, std::size_t n>
using Sources = std::array<const Element*, n>;

namespace detail {

/// Calls `body(p, lanes, here)` for all squares of lanes and positions of some planes, the first of
/// which has position `p`. Most are full: for those the compiler knows both sizes.
template <typename Body>
inline void for_squares(int positions, int lanes, Body body) {
  int p = 0;
  if (lanes == kLanes) {
    for (; p + kLanes <= positions; p += kLanes) body(p, kLanes, kLanes);
  }
  for (; p < positions; p += kLanes) body(p, lanes, std::min(kLanes, positions - p));
}

/// Calls `body(i)` for i < count, unrolled for the usual strip.
template <typename Body>
inline void for_blocks(int count, Body body) {
  if (count == kStripBlocks) {
    for (int i = 0; i < kStripBlocks; ++i) body(i);
  } else {
    for (int i = 0; i < count; ++i) body(i);
  }
}

/// `square[p]` = the lanes of position `p`, read from planes.
template <typename Element>
[[gnu::always_inline]] inline void load_square(const Element* from, std::int64_t stride, int lanes,
                                               int here, std::array<Vec, kLanes>& square) {
  if (lanes < kLanes) square = {};
  for (int lane = 0; lane < std::min(lanes, kLanes); ++lane) {
    const Element* row = from + lane * stride;
    square[lane] = here == kLanes ? load(row) : load_lanes(row, here);
  }
  transpose(square);
}

template <typename Element>
[[gnu::always_inline]] inline void store_square(Element* to, std::int64_t stride, int lanes,
                                                int here, std::array<Vec, kLanes>& square) {
  for (int i = here; i < kLanes; ++i) square[i] = Vec{};
  transpose(square);
  for (int lane = 0; lane < std::min(lanes, kLanes); ++lane) {
    Element* row = to + lane * stride;
    here == kLanes ? store(row, square[lane]) : store_lanes(row, square[lane], here);
  }
}

}  // namespace detail

/// Calls `visit(i, position, values)` for every position of every block in image `image`; `values`
/// holds one vector of each source. Only the last of the adjacent `blocks` may be partly filled.
/// If `out` is given, what `visit` returns is written there; it may be one of the sources.
template <bool kWrite, typename Element, std::size_t n, typename Visit>
inline void map_tiles(const Board& board, const Sources<Element, n>& sources, Element* out,
                      std::int64_t image, std::span<const Block> blocks, Visit visit) {
  const int positions = board.positions();
  const int count = static_cast<int>(blocks.size());
  const std::int64_t channels = board.channels;
  const std::int64_t base = image * channels * positions;
  if (board.channels_last) {
    const int full = blocks.back().lanes == kLanes ? count : count - 1;
    std::int64_t at = base + blocks[0].channel;
    for (int p = 0; p < positions; ++p, at += channels) {
      detail::for_blocks(full, [&](int i) {
        std::array<Vec, n> values;
        for (std::size_t k = 0; k < n; ++k) values[k] = load(sources[k] + at + i * kLanes);
        if constexpr (kWrite) {
          store(out + at + i * kLanes, visit(i, p, values));
        } else {
          visit(i, p, values);
        }
      });
    }
    if (full == count) return;
    const int lanes = blocks.back().lanes;
    at = base + blocks.back().channel;
    for (int p = 0; p < positions; ++p, at += channels) {
      std::array<Vec, n> values;
      for (std::size_t k = 0; k < n; ++k) values[k] = load_lanes(sources[k] + at, lanes);
      if constexpr (kWrite) {
        store_lanes(out + at, visit(full, p, values), lanes);
      } else {
        visit(full, p, values);
      }
    }
    return;
  }
  for (int i = 0; i < count; ++i) {
    const std::int64_t plane = base + blocks[i].channel * positions;
    const auto map_square = [&](int p, int lanes, int here) __attribute__((always_inline)) {
      std::array<std::array<Vec, kLanes>, n> squares;
      for (std::size_t k = 0; k < n; ++k) {
        detail::load_square(sources[k] + plane + p, positions, lanes, here, squares[k]);
      }
      std::array<Vec, kLanes> results;
      for (int j = 0; j < here; ++j) {
        std::array<Vec, n> values;
        for (std::size_t k = 0; k < n; ++k) values[k] = squares[k][j];
        if constexpr (kWrite) {
          results[j] = visit(i, p + j, values);
        } else {
          visit(i, p + j, values);
        }
      }
      if constexpr (kWrite) detail::store_square(out + plane + p, positions, lanes, here, results);
    };
    detail::for_squares(positions, blocks[i].lanes, map_square);
  }
}

template <typename Element, std::size_t n, typename Visit>
inline void read_tiles(const Board& board, const Sources<Element, n>& sources, std::int64_t image,
                       std::span<const Block> blocks, Visit visit) {
  map_tiles<false, Element>(board, sources, nullptr, image, blocks, visit);
}

/// The vectors of a block's squares, `step` elements apart: a tile, or the tensor itself.
template <typename Element>
struct Squares {
  Element* first;
  std::ptrdiff_t step;

  Element* at(std::ptrdiff_t square) const { return first + square * step; }
  Vec operator[](std::ptrdiff_t square) const { return load(at(square)); }
};

template <typename Element>
inline Squares<Element> squares_of(const Board& board, Element* tensor, std::int64_t image,
                                   const Block& block) {
  return {tensor + image * board.channels * board.positions() + block.channel, board.channels};
}

inline Squares<const float> squares_of(const Vec* tile) {
  return {reinterpret_cast<const float*>(tile), kLanes};
}

/// Calls `produce(squares)`, which stores every square of `block` there, and brings them to
/// `tensor`; `tile` is room for the block's positions.
template <typename Element, typename Produce>
inline void write_tile(const Board& board, Element* tensor, std::int64_t image, const Block& block,
                       Vec* tile, Produce produce) {
  if (board.channels_last && block.lanes == kLanes) {
    produce(squares_of(board, tensor, image, block));
    return;
  }
  produce(Squares<float>{reinterpret_cast<float*>(tile), kLanes});
  const int positions = board.positions();
  if (board.channels_last) {
    const auto to = squares_of(board, tensor, image, block);
    for (int p = 0; p < positions; ++p) store_lanes(to.at(p), tile[p], block.lanes);
    return;
  }
  Element* const plane = tensor + (image * board.channels + block.channel) * positions;
  const auto store_square = [=](int p, int lanes, int here) __attribute__((always_inline)) {
    std::array<Vec, kLanes> square;
    std::copy_n(tile + p, here, square.begin());
    detail::store_square(plane + p, positions, lanes, here, square);
  };
  detail::for_squares(positions, block.lanes, store_square);
}

/// Runs `work(item, thread)` for every item. Shares the OpenMP runtime with torch (one pool of
/// threads in the process), so neither waits for cores the other one spins on.
template <typename Work>
inline void parallel_for(std::int64_t items, int threads, Work work) {
#ifdef _OPENMP
  if (threads > 1 && items > 1) {
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (std::int64_t item = 0; item < items; ++item) work(item, omp_get_thread_num());
    return;
  }
#endif
  (void)threads;
  for (std::int64_t item = 0; item < items; ++item) work(item, 0);
}

}  // namespace zerogames::kernels
