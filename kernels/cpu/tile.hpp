#pragma once

// Tiles: the part of one image that a vector register's worth of channels covers, as
// `[position][lane]`. Both memory formats are read into the same tile, so every kernel is written
// once. With the channels last a tile row is one load; with the planes contiguous a square of
// positions and lanes is transposed in registers.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace zerogames::kernels {

#if defined(__AVX512F__)
inline constexpr int kLanes = 16;
#elif defined(__AVX2__)
inline constexpr int kLanes = 8;
#else
inline constexpr int kLanes = 4;
#endif

typedef float Vec __attribute__((vector_size(4 * kLanes)));

inline Vec splat(float value) { return Vec{} + value; }

/// Not a number stays what it is, as in torch: a diverged net must show.
inline Vec relu(const Vec& v) { return v < 0.0f ? Vec{} : v; }

inline Vec load(const float* from) {
  Vec v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
inline void store(float* to, const Vec& v) { std::memcpy(to, &v, sizeof v); }

inline Vec load_lanes(const float* from, int lanes) {
  Vec v{};
  std::memcpy(&v, from, static_cast<std::size_t>(lanes) * sizeof(float));
  return v;
}
inline void store_lanes(float* to, const Vec& v, int lanes) {
  std::memcpy(to, &v, static_cast<std::size_t>(lanes) * sizeof(float));
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

#ifndef ZEROGAMES_STRIP
#define ZEROGAMES_STRIP 32
#endif
/// Blocks that are read together: with the channels last, a row of a tile is then a few adjacent
/// cache lines, not half of one.
inline constexpr int kStripBlocks = ZEROGAMES_STRIP / kLanes;

/// Calls `visit(i, position, values)` for every position of every block in image `image`.
template <typename Visit>
inline void read_tiles(const Board& board, const float* tensor, std::int64_t image,
                       std::span<const Block> blocks, Visit visit) {
  const int positions = board.positions();
  const int count = static_cast<int>(blocks.size());
  const float* const base = tensor + image * board.channels * positions;
  if (board.channels_last && count == kStripBlocks && blocks.back().lanes == kLanes) {
    const float* from = base + blocks[0].channel;
    for (int p = 0; p < positions; ++p, from += board.channels) {
      for (int i = 0; i < kStripBlocks; ++i) visit(i, p, load(from + i * kLanes));
    }
  } else if (board.channels_last) {
    for (int i = 0; i < count; ++i) {
      const float* from = base + blocks[i].channel;
      for (int p = 0; p < positions; ++p, from += board.channels) {
        visit(i, p, load_lanes(from, blocks[i].lanes));
      }
    }
  } else {
    for (int i = 0; i < count; ++i) {
      const float* from = base + blocks[i].channel * positions;
      for (int p = 0; p < positions; p += kLanes) {
        const int here = std::min(kLanes, positions - p);
        std::array<Vec, kLanes> square{};
        for (int lane = 0; lane < blocks[i].lanes; ++lane) {
          const float* row = from + static_cast<std::int64_t>(lane) * positions + p;
          square[lane] = here == kLanes ? load(row) : load_lanes(row, here);
        }
        transpose(square);
        for (int k = 0; k < here; ++k) visit(i, p + k, square[k]);
      }
    }
  }
}

/// Writes `value(i, position)` for every position: the counterpart of `read_tiles`.
template <typename Value>
inline void write_tiles(const Board& board, float* tensor, std::int64_t image,
                        std::span<const Block> blocks, Value value) {
  const int positions = board.positions();
  const int count = static_cast<int>(blocks.size());
  float* const base = tensor + image * board.channels * positions;
  if (board.channels_last && count == kStripBlocks && blocks.back().lanes == kLanes) {
    float* to = base + blocks[0].channel;
    for (int p = 0; p < positions; ++p, to += board.channels) {
      for (int i = 0; i < kStripBlocks; ++i) store(to + i * kLanes, value(i, p));
    }
  } else if (board.channels_last) {
    for (int i = 0; i < count; ++i) {
      float* to = base + blocks[i].channel;
      for (int p = 0; p < positions; ++p, to += board.channels) {
        store_lanes(to, value(i, p), blocks[i].lanes);
      }
    }
  } else {
    for (int i = 0; i < count; ++i) {
      float* to = base + blocks[i].channel * positions;
      for (int p = 0; p < positions; p += kLanes) {
        const int here = std::min(kLanes, positions - p);
        std::array<Vec, kLanes> square{};
        for (int k = 0; k < here; ++k) square[k] = value(i, p + k);
        transpose(square);
        for (int lane = 0; lane < blocks[i].lanes; ++lane) {
          float* row = to + static_cast<std::int64_t>(lane) * positions + p;
          here == kLanes ? store(row, square[lane]) : store_lanes(row, square[lane], here);
        }
      }
    }
  }
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
