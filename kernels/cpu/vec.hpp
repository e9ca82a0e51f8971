#pragma once

// A vector register's worth of float32, as wide as the level this is compiled for, and what tensors
// keep of it: float32 or bfloat16.

#include <cstdint>

#if defined(__AVX512F__)
#include <immintrin.h>
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

/// NaN stays NaN, as in torch, so that a diverged net is noticed.
inline Vec relu(const Vec& v) { return v < 0.0f ? Vec{} : v; }

// Vectors in tensors: a float's alignment. Typed access, not memcpy, lets the compiler keep
// everything that is not a float in registers.
typedef float UnalignedVec __attribute__((vector_size(4 * kLanes), aligned(4)));

inline Vec load(const float* from) { return *reinterpret_cast<const UnalignedVec*>(from); }
inline void store(float* to, const Vec& v) { *reinterpret_cast<UnalignedVec*>(to) = v; }

/// The upper half of a float32: a way to store, not to compute.
struct Bfloat16 {
  std::uint16_t bits;
};

typedef std::uint32_t Bits __attribute__((vector_size(4 * kLanes)));
typedef std::uint16_t Halves __attribute__((vector_size(2 * kLanes)));
typedef std::uint16_t UnalignedHalves __attribute__((vector_size(2 * kLanes), aligned(2)));

// What the compiler makes of a conversion on AVX-512 is several instructions; there is one. Halves
// are passed as values: a reference would promise an alignment that tensors lack.
#if defined(__AVX512F__)
inline Bits extend(Halves halves) {
  return reinterpret_cast<Bits>(
      _mm512_maskz_cvtepu16_epi32(0xffff, reinterpret_cast<__m256i>(halves)));
}
inline Halves truncate(Bits bits) {
  return reinterpret_cast<Halves>(
      _mm512_maskz_cvtepi32_epi16(0xffff, reinterpret_cast<__m512i>(bits)));
}
#else
inline Bits extend(Halves halves) { return __builtin_convertvector(halves, Bits); }
inline Halves truncate(Bits bits) { return __builtin_convertvector(bits, Halves); }
#endif

inline Vec widen(Halves halves) { return reinterpret_cast<Vec>(extend(halves) << 16); }

/// To the nearest, ties to even; not a number stays one, whichever half its mark is in.
inline Halves narrow(const Vec& v) {
  const Bits bits = reinterpret_cast<Bits>(v);
  const Bits rounded = bits + 0x7fffu + (bits >> 16 & 1u);
  return truncate((v == v ? rounded : bits | 0x400000u) >> 16);
}

inline Vec load(const Bfloat16* from) {
  return widen(*reinterpret_cast<const UnalignedHalves*>(from));
}
inline void store(Bfloat16* to, const Vec& v) {
  *reinterpret_cast<UnalignedHalves*>(to) = narrow(v);
}

}  // namespace zerogames::kernels
