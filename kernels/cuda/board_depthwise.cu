// The board-shaped depthwise convolution on a GPU, in three forms that share one set of weights:
//
//   baseline  a grouped 5x5 convolution: the taps scattered among 25, one plane a block
//   opti1     two adjacent channels packed in one register, two warps a pair of planes, 25 taps
//   opti2     one warp a pair of planes, the live taps only; lane k loads tap k and the last lane
//             the bias, once, and the warp shares them through registers; fused bias and ReLU
//
// Tensors are contiguous [B, C, H, W] in half or single precision, weights [C, K]. The file also
// compiles as C++ with cpu_shim.hpp, which runs the same lines on the CPU for tests.

#include <cstdint>

#ifndef ZEROGAMES_CPU_SHIM
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#define ZEROGAMES_LAUNCH(kernel, grid, block, stream, ...) \
  kernel<<<grid, block, 0, static_cast<cudaStream_t>(stream)>>>(__VA_ARGS__)
/// A pointer to shared memory; the shim's delays writes until a barrier.
template <typename T>
using Shared = T*;
#endif

namespace {

constexpr int kRadius = 2;
constexpr int kWindow = 2 * kRadius + 1;
constexpr int kMaxTaps = kWindow * kWindow;
constexpr int kMaxGroups = 32;
constexpr int kMaxBoard = 25;
constexpr int kWarp = 32;
constexpr unsigned kAllLanes = 0xffffffffu;

/// What every kernel gets, by value: offsets reach the threads through constant memory.
struct Layer {
  int batch, channels, height, width;
  int groups, taps;
  bool relu;
  signed char row[kMaxGroups * kMaxTaps];
  signed char column[kMaxGroups * kMaxTaps];

  /// Channels are split as evenly as possible, the first groups get the extra.
  __device__ int group_of(int channel) const {
    const int size = channels / groups, extra = channels % groups;
    const int even = (size + 1) * extra;
    return channel < even ? channel / (size + 1) : extra + (channel - even) / size;
  }
};

template <typename T>
struct Tensors {
  const T* x;
  const T* weight;
  const T* bias;
  T* y;
};

/// Two channels in one register.
template <typename T>
struct PairOf;

template <>
struct PairOf<__half> {
  using Type = __half2;
  static __device__ Type pack(__half low, __half high) { return __halves2half2(low, high); }
  static __device__ __half low(Type v) { return __low2half(v); }
  static __device__ __half high(Type v) { return __high2half(v); }
  static __device__ Type fma(Type a, Type b, Type c) { return __hfma2(a, b, c); }
  static __device__ Type from_lane(Type v, int lane) { return __shfl_sync(kAllLanes, v, lane); }
  static __device__ __half zero() { return __float2half(0.0f); }
  static __device__ bool negative(__half v) { return __hlt(v, zero()); }
  static __device__ float widen(__half v) { return __half2float(v); }
  static __device__ __half narrow(float v) { return __float2half(v); }
};

template <>
struct PairOf<float> {
  using Type = float2;
  static __device__ Type pack(float low, float high) { return make_float2(low, high); }
  static __device__ float low(Type v) { return v.x; }
  static __device__ float high(Type v) { return v.y; }
  static __device__ Type fma(Type a, Type b, Type c) {
    return make_float2(fmaf(a.x, b.x, c.x), fmaf(a.y, b.y, c.y));
  }
  static __device__ Type from_lane(Type v, int lane) {
    const float x = __shfl_sync(kAllLanes, v.x, lane);
    const float y = __shfl_sync(kAllLanes, v.y, lane);
    return make_float2(x, y);
  }
  static __device__ float zero() { return 0.0f; }
  static __device__ bool negative(float v) { return v < 0.0f; }
  static __device__ float widen(float v) { return v; }
  static __device__ float narrow(float v) { return v; }
};

/// A pair of planes of one image. The last pair of an odd number of channels has one plane.
/// kSize > 0 tells the compiler the board's size.
template <typename T, int kSize>
struct PlanePair {
  using P = PairOf<T>;
  using Pair = typename P::Type;
  static constexpr int kPadded = (kSize > 0 ? kSize : kMaxBoard) + 2 * kRadius;

  const Layer& layer;
  const Tensors<T>& tensors;
  int channel;
  bool second;
  int64_t plane;

  __device__ PlanePair(const Layer& l, const Tensors<T>& t, int index) : layer(l), tensors(t) {
    const int pairs = (l.channels + 1) / 2;
    channel = 2 * (index % pairs);
    second = channel + 1 < l.channels;
    plane = (static_cast<int64_t>(index / pairs) * l.channels + channel) * positions();
  }

  __device__ int height() const { return kSize > 0 ? kSize : layer.height; }
  __device__ int width() const { return kSize > 0 ? kSize : layer.width; }
  __device__ int positions() const { return height() * width(); }
  __device__ int padded_width() const { return width() + 2 * kRadius; }
  __device__ int padded_size() const { return padded_width() * (height() + 2 * kRadius); }
  __device__ int padded(int p) const {
    return (p / width() + kRadius) * padded_width() + p % width() + kRadius;
  }

  /// The two channels' values of `from`, `stride` apart; zero for a missing second channel.
  __device__ Pair load(const T* from, int64_t at, int64_t stride) const {
    return P::pack(from[at], second ? from[at + stride] : P::zero());
  }

  /// Fills a tile with a border of zeros, each of `threads` threads its share.
  __device__ void load_tile(Shared<Pair> tile, int thread, int threads) const {
    for (int i = thread; i < padded_size(); i += threads) {
      const int row = i / padded_width() - kRadius, column = i % padded_width() - kRadius;
      const bool inside = row >= 0 && row < height() && column >= 0 && column < width();
      tile[i] = inside ? load(tensors.x, plane + row * width() + column, positions())
                       : P::pack(P::zero(), P::zero());
    }
  }

  /// The weight of a channel at square `at` of the 5x5 window.
  __device__ T dense_weight(int of_channel, int at) const {
    const int group = layer.group_of(of_channel);
    T found = P::zero();
    for (int k = 0; k < layer.taps; ++k) {
      const int tap = group * layer.taps + k;
      const int here = (layer.row[tap] + kRadius) * kWindow + layer.column[tap] + kRadius;
      if (here == at) found = tensors.weight[of_channel * layer.taps + k];
    }
    return found;
  }

  __device__ Pair load_bias() const {
    if (tensors.bias == nullptr) return P::pack(P::zero(), P::zero());
    return load(tensors.bias, channel, 1);
  }

  __device__ T rectified(T v) const { return layer.relu && P::negative(v) ? P::zero() : v; }

  __device__ void store(int p, Pair v) const {
    tensors.y[plane + p] = rectified(P::low(v));
    if (second) tensors.y[plane + positions() + p] = rectified(P::high(v));
  }
};

template <typename T>
__global__ void __launch_bounds__(64) baseline(const Layer layer, const Tensors<T> tensors) {
  using P = PairOf<T>;
  __shared__ float dense_memory[kMaxTaps];
  const Shared<float> dense = dense_memory;
  const int channel = blockIdx.x % layer.channels;
  const int group = layer.group_of(channel);
  for (int i = threadIdx.x; i < kMaxTaps; i += blockDim.x) dense[i] = 0.0f;
  __syncthreads();
  for (int k = threadIdx.x; k < layer.taps; k += blockDim.x) {
    const int tap = group * layer.taps + k;
    dense[(layer.row[tap] + kRadius) * kWindow + layer.column[tap] + kRadius] =
        P::widen(tensors.weight[channel * layer.taps + k]);
  }
  __syncthreads();

  const int positions = layer.height * layer.width;
  const T* const x = tensors.x + static_cast<int64_t>(blockIdx.x) * positions;
  T* const y = tensors.y + static_cast<int64_t>(blockIdx.x) * positions;
  const float bias = tensors.bias == nullptr ? 0.0f : P::widen(tensors.bias[channel]);
  for (int p = threadIdx.x; p < positions; p += blockDim.x) {
    const int row = p / layer.width, column = p % layer.width;
    float sum = bias;
    for (int i = 0; i < kMaxTaps; ++i) {
      const int r = row + i / kWindow - kRadius, c = column + i % kWindow - kRadius;
      if (r < 0 || r >= layer.height || c < 0 || c >= layer.width) continue;
      sum = fmaf(dense[i], P::widen(x[r * layer.width + c]), sum);
    }
    y[p] = P::narrow(layer.relu && sum < 0.0f ? 0.0f : sum);
  }
}

template <typename T, int kSize>
__global__ void __launch_bounds__(2 * kWarp) opti1(const Layer layer, const Tensors<T> tensors) {
  using P = PairOf<T>;
  using Planes = PlanePair<T, kSize>;
  using Pair = typename P::Type;
  __shared__ Pair tile_memory[Planes::kPadded * Planes::kPadded];
  __shared__ Pair dense_memory[kMaxTaps];
  const Shared<Pair> tile = tile_memory, dense = dense_memory;
  const Planes planes(layer, tensors, blockIdx.x);
  const int thread = threadIdx.x;

  planes.load_tile(tile, thread, 2 * kWarp);
  if (thread < kMaxTaps) {
    const T low = planes.dense_weight(planes.channel, thread);
    const T high = planes.second ? planes.dense_weight(planes.channel + 1, thread) : P::zero();
    dense[thread] = P::pack(low, high);
  }
  const Pair bias = planes.load_bias();
  __syncthreads();

  for (int p = thread; p < planes.positions(); p += 2 * kWarp) {
    const Shared<Pair> centre = tile + planes.padded(p);
    Pair sum = bias;
#pragma unroll
    for (int i = 0; i < kMaxTaps; ++i) {
      const int shift = (i / kWindow - kRadius) * planes.padded_width() + i % kWindow - kRadius;
      sum = P::fma(dense[i], centre[shift], sum);
    }
    planes.store(p, sum);
  }
}

constexpr int kWarpsPerBlock = 4;

template <typename T, int kSize>
__global__ void __launch_bounds__(kWarpsPerBlock* kWarp)
    opti2(const Layer layer, const Tensors<T> tensors) {
  using P = PairOf<T>;
  using Pair = typename P::Type;
  using Planes = PlanePair<T, kSize>;
  constexpr int kBiasLane = kWarp - 1;
  __shared__ Pair tiles[kWarpsPerBlock][Planes::kPadded * Planes::kPadded];
  const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  const int index = blockIdx.x * kWarpsPerBlock + warp;
  if (index >= layer.batch * ((layer.channels + 1) / 2)) return;
  const Planes planes(layer, tensors, index);
  const Shared<Pair> tile = tiles[warp];

  Pair mine = P::pack(P::zero(), P::zero());
  int low_shift = 0, high_shift = 0;
  if (lane < layer.taps) {
    mine = planes.load(tensors.weight, planes.channel * layer.taps + lane, layer.taps);
    const int low = layer.group_of(planes.channel) * layer.taps + lane;
    const int high = planes.second ? layer.group_of(planes.channel + 1) * layer.taps + lane : low;
    low_shift = layer.row[low] * planes.padded_width() + layer.column[low];
    high_shift = layer.row[high] * planes.padded_width() + layer.column[high];
  } else if (lane == kBiasLane) {
    mine = planes.load_bias();
  }
  planes.load_tile(tile, lane, kWarp);
  __syncwarp();

  // All lanes stay in step for the shuffles; those beyond the board work on its first square.
  constexpr int kPerLane = kSize > 0 ? (kSize * kSize + kWarp - 1) / kWarp : 4;
  const Pair bias = P::from_lane(mine, kBiasLane);
  for (int base = 0; base < planes.positions(); base += kPerLane * kWarp) {
    Pair sum[kPerLane];
    int at[kPerLane];
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) {
      const int p = base + i * kWarp + lane;
      at[i] = planes.padded(p < planes.positions() ? p : 0);
      sum[i] = bias;
    }
    for (int k = 0; k < layer.taps; ++k) {
      const Pair weight = P::from_lane(mine, k);
      const int low = __shfl_sync(kAllLanes, low_shift, k);
      const int high = __shfl_sync(kAllLanes, high_shift, k);
#pragma unroll
      for (int i = 0; i < kPerLane; ++i) {
        Pair value = tile[at[i] + low];
        // Only a pair on the border of two groups has two patterns; the branch is the warp's.
        if (low != high) value = P::pack(P::low(value), P::high(tile[at[i] + high]));
        sum[i] = P::fma(weight, value, sum[i]);
      }
    }
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) {
      const int p = base + i * kWarp + lane;
      if (p < planes.positions()) planes.store(p, sum[i]);
    }
  }
}

template <typename T>
void launch(int form, const Layer& layer, const Tensors<T>& tensors, void* stream) {
  const int pairs = layer.batch * ((layer.channels + 1) / 2);
  const bool chess = layer.height == 8 && layer.width == 8;
  if (form == 0) {
    ZEROGAMES_LAUNCH(baseline<T>, layer.batch * layer.channels, 64, stream, layer, tensors);
  } else if (form == 1) {
    auto* const kernel = chess ? opti1<T, 8> : opti1<T, 0>;
    ZEROGAMES_LAUNCH(kernel, pairs, 2 * kWarp, stream, layer, tensors);
  } else {
    auto* const kernel = chess ? opti2<T, 8> : opti2<T, 0>;
    const int blocks = (pairs + kWarpsPerBlock - 1) / kWarpsPerBlock;
    ZEROGAMES_LAUNCH(kernel, blocks, kWarpsPerBlock * kWarp, stream, layer, tensors);
  }
}

}  // namespace

/// Form 0 baseline, 1 opti1, 2 opti2; `precision` 16 or 32; `offsets` is `[groups, taps, 2]` on the
/// host, the tensors are on the device, `bias` may be null. Returns 0, a CUDA error, or -1 for
/// arguments out of range.
extern "C" int zerogames_board_depthwise(int form, int precision, const void* x, const void* weight,
                                         const void* bias, void* y, int batch, int channels,
                                         int height, int width, const int* offsets, int groups,
                                         int taps, int relu, void* stream) {
  if (form < 0 || form > 2 || (precision != 16 && precision != 32) || batch < 0 || groups < 1 ||
      groups > kMaxGroups || channels < groups || taps < 1 || taps > kMaxTaps || height < 1 ||
      height > kMaxBoard || width < 1 || width > kMaxBoard ||
      static_cast<int64_t>(batch) * channels > INT32_MAX) {
    return -1;
  }
  if (batch == 0) return 0;
  Layer layer{batch, channels, height, width, groups, taps, relu != 0, {}, {}};
  for (int i = 0; i < groups * taps; ++i) {
    const int row = offsets[2 * i], column = offsets[2 * i + 1];
    if (row < -kRadius || row > kRadius || column < -kRadius || column > kRadius) return -1;
    layer.row[i] = static_cast<signed char>(row);
    layer.column[i] = static_cast<signed char>(column);
  }
  if (precision == 16) {
    launch<__half>(form, layer,
                   {static_cast<const __half*>(x), static_cast<const __half*>(weight),
                    static_cast<const __half*>(bias), static_cast<__half*>(y)},
                   stream);
  } else {
    launch<float>(form, layer,
                  {static_cast<const float*>(x), static_cast<const float*>(weight),
                   static_cast<const float*>(bias), static_cast<float*>(y)},
                  stream);
  }
  return static_cast<int>(cudaGetLastError());
}
