#pragma once

// The arithmetic of the integer network: one plain version, one for AVX2 and one for VNNI, equal
// bit for bit. Sums wrap, so the order of additions cannot matter.

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <vector>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace zerogames::quantized {

inline constexpr int kActivationOne = 127;
inline constexpr int kHiddenShift = 6;
inline constexpr int kOutputShift = 4;
/// Every layer is padded to a multiple of this with zeros in memory.
inline constexpr int kPadding = 32;

constexpr int padded(int size) { return (size + kPadding - 1) / kPadding * kPadding; }

template <class T>
struct CacheLineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kAlignment{64};

  CacheLineAllocator() = default;
  template <class U>
  CacheLineAllocator(const CacheLineAllocator<U>&) {}
  T* allocate(std::size_t size) {
    return static_cast<T*>(::operator new(size * sizeof(T), kAlignment));
  }
  void deallocate(T* data, std::size_t) { ::operator delete(data, kAlignment); }
  bool operator==(const CacheLineAllocator&) const = default;
};
template <class T>
using Aligned = std::vector<T, CacheLineAllocator<T>>;

/// A hidden layer. Four inputs at a time meet all outputs: weights are [inputs / 4][outputs][4], so
/// that no sum across a register is needed and chunks of zeros are passed over.
struct Dense {
  int inputs = 0;   ///< Padded.
  int outputs = 0;  ///< Padded.
  Aligned<std::int8_t> weights;
  Aligned<std::int32_t> bias;

  Dense() = default;
  Dense(int padded_inputs, int padded_outputs)
      : inputs(padded_inputs),
        outputs(padded_outputs),
        weights(static_cast<std::size_t>(padded_inputs) * padded_outputs),
        bias(padded_outputs) {}

  std::int8_t& weight(int output, int input) {
    return weights[(static_cast<std::size_t>(input / 4) * outputs + output) * 4 + input % 4];
  }
};

struct ScalarOps {
  static constexpr const char* kName = "scalar";
  static bool supported() { return true; }

  static void clip(const std::int16_t* sums, int size, std::uint8_t* out) {
    for (int i = 0; i < size; ++i) {
      const int value = sums[i];
      out[i] = static_cast<std::uint8_t>(value < 0                ? 0
                                         : value > kActivationOne ? kActivationOne
                                                                  : value);
    }
  }
  static void clip(const std::int32_t* sums, int size, std::uint8_t* out) {
    for (int i = 0; i < size; ++i) {
      const int value = sums[i] >> kHiddenShift;
      out[i] = static_cast<std::uint8_t>(value < 0                ? 0
                                         : value > kActivationOne ? kActivationOne
                                                                  : value);
    }
  }
  static void multiply(const Dense& layer, const std::uint8_t* x, std::int32_t* out) {
    std::memcpy(out, layer.bias.data(), sizeof(*out) * layer.outputs);
    const std::int8_t* weights = layer.weights.data();
    for (int input = 0; input < layer.inputs; input += 4) {
      for (int output = 0; output < layer.outputs; ++output, weights += 4) {
        out[output] += x[input] * weights[0] + x[input + 1] * weights[1] +
                       x[input + 2] * weights[2] + x[input + 3] * weights[3];
      }
    }
  }
  static std::int32_t dot(const std::uint8_t* x, const std::int8_t* weights, int size) {
    std::int32_t sum = 0;
    for (int i = 0; i < size; ++i) sum += x[i] * weights[i];
    return sum;
  }
};

#if defined(__AVX2__)

namespace detail {

/// The places of the set bits of each byte of flags.
inline constexpr auto kSetBits = [] {
  std::array<std::array<std::uint16_t, 8>, 256> table{};
  for (int flags = 0; flags < 256; ++flags) {
    int found = 0;
    for (std::uint16_t place = 0; place < 8; ++place) {
      if (flags >> place & 1) table[flags][found++] = place;
    }
  }
  return table;
}();

/// Writes the numbers of the chunks of four bytes that are not all zero; `list` has room for eight
/// more than there are.
inline int find_nonzero(const std::uint8_t* x, int size, std::uint16_t* list) {
  const __m256i zero = _mm256_setzero_si256();
  const __m128i eight = _mm_set1_epi16(8);
  __m128i first = _mm_setzero_si128();
  int found = 0;
  for (int i = 0; i < size; i += 32) {
    const __m256i bytes = _mm256_load_si256(reinterpret_cast<const __m256i*>(x + i));
    // Activations are at most 127, so a chunk that is not zero is positive.
    const auto flags = static_cast<unsigned>(
        _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(bytes, zero))));
    const __m128i places =
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(kSetBits[flags].data()));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(list + found), _mm_add_epi16(places, first));
    found += __builtin_popcount(flags);
    first = _mm_add_epi16(first, eight);
  }
  return found;
}

}  // namespace detail

struct Avx2Ops {
  static constexpr const char* kName = "avx2";
  /// This file is compiled with AVX2 only where that is known.
  static bool supported() { return true; }

  static void clip(const std::int16_t* sums, int size, std::uint8_t* out) {
    const __m256i zero = _mm256_setzero_si256();
    for (int i = 0; i < size; i += 32) {
      const auto* at = reinterpret_cast<const __m256i*>(sums + i);
      const __m256i bytes = _mm256_packs_epi16(_mm256_load_si256(at), _mm256_load_si256(at + 1));
      // Packing works in 128-bit lanes.
      _mm256_store_si256(reinterpret_cast<__m256i*>(out + i),
                         _mm256_max_epi8(_mm256_permute4x64_epi64(bytes, 0xD8), zero));
    }
  }
  static void clip(const std::int32_t* sums, int size, std::uint8_t* out) {
    const __m256i zero = _mm256_setzero_si256();
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    for (int i = 0; i < size; i += 32) {
      const auto* at = reinterpret_cast<const __m256i*>(sums + i);
      const auto shifted = [&](int part) {
        return _mm256_srai_epi32(_mm256_load_si256(at + part), kHiddenShift);
      };
      const __m256i bytes = _mm256_packs_epi16(_mm256_packs_epi32(shifted(0), shifted(1)),
                                               _mm256_packs_epi32(shifted(2), shifted(3)));
      _mm256_store_si256(reinterpret_cast<__m256i*>(out + i),
                         _mm256_max_epi8(_mm256_permutevar8x32_epi32(bytes, order), zero));
    }
  }

  static void multiply(const Dense& layer, const std::uint8_t* x, std::int32_t* out) {
    multiply_with(layer, x, out, [](__m256i sum, __m256i bytes, __m256i weights) {
      // Two products of 7 and 8 bits fit 16 bits.
      const __m256i pairs = _mm256_maddubs_epi16(bytes, weights);
      return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
    });
  }

  static std::int32_t dot(const std::uint8_t* x, const std::int8_t* weights, int size) {
    __m256i sum = _mm256_setzero_si256();
    for (int i = 0; i < size; i += 32) {
      const __m256i pairs =
          _mm256_maddubs_epi16(_mm256_load_si256(reinterpret_cast<const __m256i*>(x + i)),
                               _mm256_load_si256(reinterpret_cast<const __m256i*>(weights + i)));
      sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
    }
    __m128i half = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
    half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0x4E));
    half = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0xB1));
    return _mm_cvtsi128_si32(half);
  }

 protected:
  template <class MultiplyAdd>
  __attribute__((always_inline)) static void multiply_with(const Dense& layer,
                                                           const std::uint8_t* x, std::int32_t* out,
                                                           MultiplyAdd multiply_add) {
    std::uint16_t chunks[2 * 2048 / 4 + 8];
    const int found = detail::find_nonzero(x, layer.inputs, chunks);
    for (int first = 0; first < layer.outputs; first += 32) {
      const auto* bias = reinterpret_cast<const __m256i*>(layer.bias.data() + first);
      __m256i sum0 = _mm256_load_si256(bias), sum1 = _mm256_load_si256(bias + 1);
      __m256i sum2 = _mm256_load_si256(bias + 2), sum3 = _mm256_load_si256(bias + 3);
      for (int i = 0; i < found; ++i) {
        std::int32_t four;
        std::memcpy(&four, x + 4 * chunks[i], sizeof four);
        const __m256i bytes = _mm256_set1_epi32(four);
        const auto* weights = reinterpret_cast<const __m256i*>(
            layer.weights.data() +
            (static_cast<std::size_t>(chunks[i]) * layer.outputs + first) * 4);
        sum0 = multiply_add(sum0, bytes, _mm256_load_si256(weights));
        sum1 = multiply_add(sum1, bytes, _mm256_load_si256(weights + 1));
        sum2 = multiply_add(sum2, bytes, _mm256_load_si256(weights + 2));
        sum3 = multiply_add(sum3, bytes, _mm256_load_si256(weights + 3));
      }
      auto* to = reinterpret_cast<__m256i*>(out + first);
      _mm256_store_si256(to, sum0), _mm256_store_si256(to + 1, sum1);
      _mm256_store_si256(to + 2, sum2), _mm256_store_si256(to + 3, sum3);
    }
  }
};

#define ZEROGAMES_VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))

/// One instruction for the three of AVX2.
struct VnniOps : Avx2Ops {
  static constexpr const char* kName = "vnni";
  static bool supported() {
    return __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512bw");
  }

  ZEROGAMES_VNNI static void multiply(const Dense& layer, const std::uint8_t* x,
                                      std::int32_t* out) {
    multiply_with(layer, x, out, [](__m256i sum, __m256i bytes, __m256i weights) ZEROGAMES_VNNI {
      return _mm256_dpbusd_epi32(sum, bytes, weights);
    });
  }
};

#undef ZEROGAMES_VNNI

#endif

/// Rows of int16 as unsigned vectors, which wrap by definition.
using Lanes = std::uint16_t __attribute__((vector_size(32)));

namespace detail {

template <int tiles>
__attribute__((always_inline)) inline void add_rows(const std::int16_t* from, std::int16_t* to,
                                                    const std::int16_t* rows, int stride,
                                                    std::span<const std::int32_t> added,
                                                    std::span<const std::int32_t> removed) {
  Lanes sums[tiles];
  const auto row = [&](std::int32_t index) {
    return reinterpret_cast<const Lanes*>(rows + static_cast<std::size_t>(index) * stride);
  };
  for (int k = 0; k < tiles; ++k) sums[k] = reinterpret_cast<const Lanes*>(from)[k];
  for (const std::int32_t index : added) {
    const Lanes* weights = row(index);
    for (int k = 0; k < tiles; ++k) sums[k] += weights[k];
  }
  for (const std::int32_t index : removed) {
    const Lanes* weights = row(index);
    for (int k = 0; k < tiles; ++k) sums[k] -= weights[k];
  }
  for (int k = 0; k < tiles; ++k) reinterpret_cast<Lanes*>(to)[k] = sums[k];
}

}  // namespace detail

/// to = from + added rows - removed rows, a part that fits the registers at a time.
inline void add_rows(const std::int16_t* from, std::int16_t* to, const Aligned<std::int16_t>& rows,
                     int size, const std::vector<std::int32_t>& added,
                     const std::vector<std::int32_t>& removed) {
  constexpr int kTiles = 8, kWidth = 16 * kTiles;
  int at = 0;
  for (; at + kWidth <= size; at += kWidth) {
    detail::add_rows<kTiles>(from + at, to + at, rows.data() + at, size, added, removed);
  }
  for (; at < size; at += 32) {
    detail::add_rows<2>(from + at, to + at, rows.data() + at, size, added, removed);
  }
}

}  // namespace zerogames::quantized
