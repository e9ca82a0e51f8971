#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace zerogames {

/// Planes, height, width of an observation.
struct Shape {
  int planes = 0;
  int height = 0;
  int width = 0;

  constexpr int cells() const { return height * width; }
  constexpr int size() const { return planes * cells(); }
  constexpr bool operator==(const Shape&) const = default;
};

/// 64-bit words that hold one bit plane of `cells` cells.
constexpr int words_per_plane(int cells) { return (cells + 63) / 64; }

/// An observation as bit planes followed by constant planes.
/// Cell i of a bit plane is bit i % 64 of word i / 64; unused high bits are zero.
struct PackedPlanes {
  std::vector<std::uint64_t> bits;  ///< [bit planes][words_per_plane]
  std::vector<float> constants;     ///< [constant planes]
};

/// Expands the bits of one plane to 0.0 and 1.0.
inline void expand_bits(const std::uint64_t* words, int cells, float* out) {
  int cell = 0;
#if defined(__AVX2__)
  const __m256i select = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  const __m256 one = _mm256_set1_ps(1.0F);
  for (; cell + 8 <= cells; cell += 8) {
    const int byte = static_cast<int>((words[cell / 64] >> (cell % 64)) & 0xFF);
    const __m256i chosen = _mm256_and_si256(_mm256_set1_epi32(byte), select);
    const __m256i mask = _mm256_cmpeq_epi32(chosen, select);
    _mm256_storeu_ps(out + cell, _mm256_and_ps(_mm256_castsi256_ps(mask), one));
  }
#endif
  for (; cell < cells; ++cell) {
    out[cell] = static_cast<float>((words[cell / 64] >> (cell % 64)) & 1);
  }
}

/// Fills one plane with a constant.
inline void fill_plane(float value, int cells, float* out) {
  for (int cell = 0; cell < cells; ++cell) out[cell] = value;
}

/// Expands packed planes to floats [planes][cells]: first all bit planes, then the constants.
inline void unpack_planes(std::span<const std::uint64_t> bits, std::span<const float> constants,
                          int cells, std::span<float> out) {
  const int words = words_per_plane(cells);
  float* plane = out.data();
  for (std::size_t first = 0; first < bits.size(); first += words, plane += cells) {
    expand_bits(bits.data() + first, cells, plane);
  }
  for (const float value : constants) {
    fill_plane(value, cells, plane);
    plane += cells;
  }
}

}  // namespace zerogames
