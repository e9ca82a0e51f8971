#pragma once

// int8 layers over boards whose channels lie together: `[squares][channels]`, uint8 activations,
// int8 weights, exact int32 sums. With AVX-512 VNNI sixteen sums of four products are one
// instruction; without it plain loops give the same numbers.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <vector>

#include "trunk_parts.hpp"

#if defined(__AVX512BW__) && defined(__AVX512VL__)
#include <immintrin.h>
#define ZEROGAMES_VNNI 1
#define ZEROGAMES_VNNI_TARGET __attribute__((target("avx512vnni")))
#endif

namespace zerogames::int8 {

using trunk::Buffer;
using trunk::Offset;
using trunk::round_up;

inline constexpr int kLanes = 16;
inline constexpr int kHalo = 2;
/// Columns of a tile, in vectors, and its rows.
inline constexpr int kTileVectors = 3;
inline constexpr int kTileRows = 8;

inline bool has_vnni() {
#if defined(ZEROGAMES_VNNI)
  return __builtin_cpu_supports("avx512vnni");
#else
  return false;
#endif
}

/// A board with a rim of two squares, so that no tap falls off it.
struct Geometry : trunk::BoardSize {
  int padded_width() const { return width + 2 * kHalo; }
  int padded_squares() const { return (height + 2 * kHalo) * padded_width(); }
  int padded_square(int square) const {
    return (square / width + kHalo) * padded_width() + square % width + kHalo;
  }
  int shift(Offset offset) const { return offset.row * padded_width() + offset.column; }
};

/// Activations as uint8 on a padded board; the rim holds what means 0.
struct Activations {
  Buffer<std::uint8_t> values;
  int stride = 0;  // bytes of a square: its channels, a whole number of cache lines

  void resize(const Geometry& board, int channels, std::uint8_t zero) {
    stride = round_up(channels, 64);
    values.assign(static_cast<std::size_t>(board.padded_squares()) * stride, zero);
  }
  std::uint8_t* at(int padded_square) {
    return values.data() + static_cast<std::size_t>(padded_square) * stride;
  }
  const std::uint8_t* at(int padded_square) const {
    return values.data() + static_cast<std::size_t>(padded_square) * stride;
  }
};

/// Turns sums into results: `sum * scale + bias`, for every output channel.
struct Affine {
  Buffer<float> scale;
  Buffer<float> bias;

  Affine() = default;
  Affine(std::span<const float> scales, std::span<const float> biases, int padded)
      : scale(padded, 0.0f), bias(padded, 0.0f) {
    std::copy(scales.begin(), scales.end(), scale.begin());
    std::copy(biases.begin(), biases.end(), bias.begin());
  }
};

inline std::uint8_t to_byte(float value) {
  return static_cast<std::uint8_t>(std::clamp(std::nearbyint(value), 0.0f, 255.0f));
}

/// A convolution with all input channels; 1x1 is one tap.
class Convolution {
 public:
  /// `weight` is `[out, in, taps]`.
  Convolution(const Geometry& board, int in, int out, std::span<const Offset> taps,
              std::span<const std::int8_t> weight, std::span<const float> scale,
              std::span<const float> bias)
      : board_(board),
        true_in_(in),
        in_(round_up(in, 4)),
        out_(out),
        padded_out_(round_up(out, kLanes)) {
    const auto num_taps = static_cast<int>(taps.size());
    if (weight.size() != static_cast<std::size_t>(out) * in * num_taps ||
        scale.size() != static_cast<std::size_t>(out) || bias.size() != scale.size()) {
      throw std::invalid_argument("the weights of an int8 layer do not fit its size");
    }
    affine_ = Affine(scale, bias, padded_out_);
    for (const Offset& tap : taps) shifts_.push_back(board.shift(tap));
    // Panels of up to three vectors of outputs; in a panel [tap][in / 4][vector][lane][4].
    packed_.assign(static_cast<std::size_t>(padded_out_) * in_ * num_taps, 0);
    std::size_t at = 0;
    for (int first = 0; first < padded_out_; first += kTileVectors * kLanes) {
      const int columns = std::min(kTileVectors * kLanes, padded_out_ - first);
      for (int tap = 0; tap < num_taps; ++tap) {
        for (int k = 0; k < in_; k += 4) {
          for (int column = 0; column < columns; ++column) {
            for (int i = 0; i < 4; ++i, ++at) {
              const int o = first + column;
              if (o < out && k + i < in) {
                packed_[at] = weight[(static_cast<std::size_t>(o) * in + k + i) * num_taps + tap];
              }
            }
          }
        }
      }
    }
  }

  int in() const { return true_in_; }
  int out() const { return out_; }
  int padded_out() const { return padded_out_; }

  /// Results as uint8 on a padded board: a ReLU too, for they begin at 0.
  void run(const Activations& x, Activations& y, bool vnni) const {
    run(x, vnni,
        [&](int square, int first, int columns, const std::int32_t* sums) {
          std::uint8_t* to = y.at(board_.padded_square(square)) + first;
          for (int c = 0; c < columns; ++c) to[c] = to_byte(result(first + c, sums[c]));
        },
        {y.values.data(), y.stride, nullptr});
  }

  /// Results as float32, `[squares][padded_out]`.
  void run(const Activations& x, float* y, bool vnni) const {
    run(x, vnni,
        [&](int square, int first, int columns, const std::int32_t* sums) {
          float* to = y + static_cast<std::size_t>(square) * padded_out_ + first;
          for (int c = 0; c < columns; ++c) to[c] = result(first + c, sums[c]);
        },
        {nullptr, 0, y});
  }

 private:
  float result(int channel, std::int32_t sum) const {
    return std::fma(static_cast<float>(sum), affine_.scale[channel], affine_.bias[channel]);
  }

  /// Where results go: bytes on a padded board, or floats.
  struct Output {
    std::uint8_t* bytes;
    int stride;  ///< of the bytes of a square
    float* floats;
  };

  template <class Store>
  void run(const Activations& x, [[maybe_unused]] bool vnni, Store store,
           [[maybe_unused]] const Output& output) const {
#if defined(ZEROGAMES_VNNI)
    if (vnni) {
      run_vnni(x, output);
      return;
    }
#endif
    const std::size_t panel = static_cast<std::size_t>(in_) * shifts_.size();
    for (int square = 0; square < board_.squares(); ++square) {
      for (int first = 0; first < padded_out_; first += kTileVectors * kLanes) {
        const int columns = std::min(kTileVectors * kLanes, padded_out_ - first);
        std::int32_t sums[kTileVectors * kLanes] = {};
        const std::int8_t* w = packed_.data() + first * panel;
        for (const int shift : shifts_) {
          const std::uint8_t* from = x.at(board_.padded_square(square) + shift);
          for (int k = 0; k < in_; k += 4) {
            for (int c = 0; c < columns; ++c) {
              for (int i = 0; i < 4; ++i) sums[c] += from[k + i] * *w++;
            }
          }
        }
        store(square, first, columns, sums);
      }
    }
  }

#if defined(ZEROGAMES_VNNI)
  /// Squares and channels that are computed together.
  struct Tile {
    int begin, rows;  ///< squares
    int first;        ///< channel
  };

  ZEROGAMES_VNNI_TARGET void run_vnni(const Activations& x, const Output& output) const {
    const int squares = board_.squares();
    const std::size_t panel = static_cast<std::size_t>(in_) * shifts_.size();
    for (int first = 0; first < padded_out_; first += kTileVectors * kLanes) {
      const int vectors = std::min(kTileVectors * kLanes, padded_out_ - first) / kLanes;
      const std::int8_t* w = packed_.data() + first * panel;
      for (int square = 0; square < squares; square += kTileRows) {
        // The last tile goes back over squares already done where the board is no whole number.
        const int begin = std::max(0, std::min(square, squares - kTileRows));
        const int rows = std::min(kTileRows, squares);
        const Tile tile{begin, rows, first};
        if (vectors == 3) {
          compute_tile<3>(x, w, tile, output);
        } else if (vectors == 2) {
          compute_tile<2>(x, w, tile, output);
        } else {
          compute_tile<1>(x, w, tile, output);
        }
      }
    }
  }

  template <int V>
  ZEROGAMES_VNNI_TARGET void compute_tile(const Activations& x, const std::int8_t* w,
                                          const Tile& tile, const Output& output) const {
    const auto [begin, rows, first] = tile;
    const auto [bytes, stride, floats] = output;  // copies, which no store can alias
    const std::uint8_t* from[kTileRows];
    for (int r = 0; r < kTileRows; ++r) {
      from[r] = x.at(board_.padded_square(begin + std::min(r, rows - 1)));
    }
    __m512i sums[kTileRows][V];
    for (int r = 0; r < kTileRows; ++r) {
      for (int v = 0; v < V; ++v) sums[r][v] = _mm512_setzero_si512();
    }
    for (const int shift : shifts_) {
      const std::ptrdiff_t offset = static_cast<std::ptrdiff_t>(shift) * x.stride;
      for (int k = 0; k < in_; k += 4) {
        __m512i weights[V];
        for (int v = 0; v < V; ++v) weights[v] = _mm512_load_si512(w + v * 64);
        w += V * 64;
#pragma GCC unroll 8
        for (int r = 0; r < kTileRows; ++r) {
          std::int32_t four;
          std::memcpy(&four, from[r] + offset + k, 4);
          const __m512i inputs = _mm512_set1_epi32(four);
#pragma GCC unroll 3
          for (int v = 0; v < V; ++v) {
            sums[r][v] = _mm512_dpbusd_epi32(sums[r][v], inputs, weights[v]);
          }
        }
      }
    }
    for (int v = 0; v < V; ++v) {
      const int channel = first + v * kLanes;
      const __m512 scale = _mm512_load_ps(affine_.scale.data() + channel);
      const __m512 bias = _mm512_load_ps(affine_.bias.data() + channel);
      for (int r = 0; r < rows; ++r) {
        const __m512 result = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums[r][v]), scale, bias);
        if (floats != nullptr) {
          _mm512_storeu_ps(floats + static_cast<std::size_t>(begin + r) * padded_out_ + channel,
                           result);
        } else {
          const __m512i rounded =
              _mm512_max_epi32(_mm512_cvtps_epi32(_mm512_min_ps(result, _mm512_set1_ps(255))),
                               _mm512_setzero_si512());
          std::uint8_t* to =
              bytes + static_cast<std::size_t>(board_.padded_square(begin + r)) * stride + channel;
          _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtusepi32_epi8(rounded));
        }
      }
    }
  }
#endif

  Geometry board_;
  int true_in_, in_, out_, padded_out_;
  std::vector<int> shifts_;
  Buffer<std::int8_t> packed_;
  Affine affine_;
};

/// A depthwise layer: every channel has taps of its own, those of its group.
class Depthwise {
 public:
  /// `weight` is `[channels, 25]`, the 5x5 window with zeros where there is no tap.
  Depthwise(const Geometry& board, int channels, std::span<const std::int8_t> weight,
            std::span<const float> scale, std::span<const float> bias)
      : board_(board), channels_(round_up(channels, kBlock)) {
    if (weight.size() != static_cast<std::size_t>(channels) * kWindow * kWindow ||
        scale.size() != static_cast<std::size_t>(channels) || bias.size() != scale.size()) {
      throw std::invalid_argument("the weights of an int8 layer do not fit its size");
    }
    affine_ = Affine(scale, bias, channels_);
    for (int first = 0; first < channels_; first += kBlock) {
      Block block{.first = first, .shifts = {}, .weights = weights_.size()};
      std::vector<int> live;
      const int last = std::min(first + kBlock, channels);
      for (int place = 0; place < kWindow * kWindow; ++place) {
        for (int c = first; c < last; ++c) {
          if (weight[static_cast<std::size_t>(c) * kWindow * kWindow + place] != 0) {
            live.push_back(place);
            break;
          }
        }
      }
      for (const int place : live) {
        block.shifts.push_back(board.shift({place / kWindow - kHalo, place % kWindow - kHalo}));
      }
      // In fours of taps: four vectors in the order that interleaving bytes gives.
      for (std::size_t tap = 0; tap < live.size(); tap += 4) {
        for (int v = 0; v < 4; ++v) {
          for (int lane = 0; lane < kLanes; ++lane) {
            const int c = first + channel_of(v, lane);
            for (std::size_t i = 0; i < 4; ++i) {
              const bool inside = c < channels && tap + i < live.size();
              weights_.push_back(
                  inside ? weight[static_cast<std::size_t>(c) * kWindow * kWindow + live[tap + i]]
                         : std::int8_t{0});
            }
          }
        }
      }
      blocks_.push_back(std::move(block));
    }
  }

  /// Computes a padded board from a padded board, both uint8.
  void run(const Activations& x, Activations& y, [[maybe_unused]] bool vnni) const {
#if defined(ZEROGAMES_VNNI)
    if (vnni) {
      run_vnni(x, y);
      return;
    }
#endif
    for (int square = 0; square < board_.squares(); ++square) {
      const int padded = board_.padded_square(square);
      for (const Block& block : blocks_) {
        for (int v = 0; v < 4; ++v) {
          for (int lane = 0; lane < kLanes; ++lane) {
            const int c = block.first + channel_of(v, lane);
            std::int32_t sum = 0;
            for (std::size_t tap = 0; tap < block.shifts.size(); ++tap) {
              const std::size_t at =
                  block.weights + ((tap / 4 * 4 + v) * kLanes + lane) * 4 + tap % 4;
              sum += x.at(padded + block.shifts[tap])[c] * weights_[at];
            }
            y.at(padded)[c] =
                to_byte(std::fma(static_cast<float>(sum), affine_.scale[c], affine_.bias[c]));
          }
        }
      }
    }
  }

 private:
  static constexpr int kWindow = 2 * kHalo + 1;
  static constexpr int kBlock = 64;

  struct Block {
    int first;
    std::vector<int> shifts;
    std::size_t weights;
  };

  static int channel_of(int vector, int lane) { return lane / 4 * 16 + vector * 4 + lane % 4; }

#if defined(ZEROGAMES_VNNI)
  ZEROGAMES_VNNI_TARGET void run_vnni(const Activations& x, Activations& y) const {
    const __m512i zero = _mm512_setzero_si512();
    for (const Block& block : blocks_) {
      __m512 scale[4], bias[4];
      alignas(64) float permuted[2][kLanes];
      for (int v = 0; v < 4; ++v) {
        for (int lane = 0; lane < kLanes; ++lane) {
          permuted[0][lane] = affine_.scale[block.first + channel_of(v, lane)];
          permuted[1][lane] = affine_.bias[block.first + channel_of(v, lane)];
        }
        scale[v] = _mm512_load_ps(permuted[0]);
        bias[v] = _mm512_load_ps(permuted[1]);
      }
      const int taps = static_cast<int>(block.shifts.size());
      for (int square = 0; square < board_.squares(); ++square) {
        const int padded = board_.padded_square(square);
        const std::int8_t* w = weights_.data() + block.weights;
        __m512i sums[4] = {zero, zero, zero, zero};
        for (int tap = 0; tap < taps; tap += 4, w += 4 * 64) {
          __m512i in[4];
          for (int i = 0; i < 4; ++i) {
            in[i] = tap + i < taps
                        ? _mm512_load_si512(x.at(padded + block.shifts[tap + i]) + block.first)
                        : zero;
          }
          const __m512i low01 = _mm512_unpacklo_epi8(in[0], in[1]);
          const __m512i high01 = _mm512_unpackhi_epi8(in[0], in[1]);
          const __m512i low23 = _mm512_unpacklo_epi8(in[2], in[3]);
          const __m512i high23 = _mm512_unpackhi_epi8(in[2], in[3]);
          const __m512i inputs[4] = {
              _mm512_unpacklo_epi16(low01, low23), _mm512_unpackhi_epi16(low01, low23),
              _mm512_unpacklo_epi16(high01, high23), _mm512_unpackhi_epi16(high01, high23)};
          for (int v = 0; v < 4; ++v) {
            sums[v] = _mm512_dpbusd_epi32(sums[v], inputs[v], _mm512_load_si512(w + v * 64));
          }
        }
        __m512i rounded[4];
        for (int v = 0; v < 4; ++v) {
          const __m512 result = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums[v]), scale[v], bias[v]);
          rounded[v] = _mm512_cvtps_epi32(_mm512_min_ps(result, _mm512_set1_ps(255)));
        }
        const __m512i bytes = _mm512_packus_epi16(_mm512_packs_epi32(rounded[0], rounded[1]),
                                                  _mm512_packs_epi32(rounded[2], rounded[3]));
        _mm512_store_si512(y.at(padded) + block.first, bytes);
      }
    }
  }
#endif

  Geometry board_;
  int channels_;
  Buffer<std::int8_t> weights_;
  std::vector<Block> blocks_;
  Affine affine_;
};

}  // namespace zerogames::int8
