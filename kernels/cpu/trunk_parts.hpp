#pragma once

// What trunks in float32 and in int8 have in common. The activations of a position are
// `[squares + 1][stride]`: channels lie together, `stride` of them, padded with zeros to whole
// lines of the cache; the square behind the last one is all zero and stands for everything off the
// board.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

#include "vec.hpp"
#include "workers.hpp"

namespace zerogames::trunk {

using kernels::kLanes;
using kernels::load;
using kernels::store;

/// Numbers in a line of the cache.
inline constexpr int kLine = 16;

inline int round_up(int value, int step) { return (value + step - 1) / step * step; }

template <class T>
struct AlignedAllocator {
  using value_type = T;
  T* allocate(std::size_t n) {
    return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t{64}));
  }
  void deallocate(T* p, std::size_t) { ::operator delete(p, std::align_val_t{64}); }
  bool operator==(const AlignedAllocator&) const = default;
};
template <class T>
using Buffer = std::vector<T, AlignedAllocator<T>>;

struct Offset {
  int row;
  int column;
};

struct BoardSize {
  int height;
  int width;

  int squares() const { return height * width; }
  /// The square at a place, or the one that stands for everything off the board.
  int square(int row, int column) const {
    const bool inside = row >= 0 && row < height && column >= 0 && column < width;
    return inside ? row * width + column : squares();
  }
};

/// The first layer. Planes are mostly zeros: only what is not is multiplied.
class Stem {
 public:
  /// `weight` is `[channels, planes, taps]`.
  Stem(const BoardSize& board, int planes, int channels, std::span<const Offset> taps,
       std::span<const float> weight, std::span<const float> bias, bool relu)
      : board_(board),
        planes_(planes),
        stride_(round_up(channels, kLine)),
        num_taps_(taps.size()),
        weight_(static_cast<std::size_t>(planes) * taps.size() * stride_, 0.0f),
        bias_(stride_, 0.0f),
        relu_(relu) {
    if (weight.size() != static_cast<std::size_t>(channels) * planes * taps.size() ||
        bias.size() != static_cast<std::size_t>(channels)) {
      throw std::invalid_argument("the weights of the stem do not fit its size");
    }
    std::copy(bias.begin(), bias.end(), bias_.begin());
    for (int c = 0; c < channels; ++c) {
      for (std::size_t i = 0; i < planes * taps.size(); ++i) {
        weight_[i * stride_ + c] = weight[c * planes * taps.size() + i];
      }
    }
    for (int s = 0; s < board.squares(); ++s) {
      for (const Offset& tap : taps) {
        targets_.push_back(board.square(s / board.width - tap.row, s % board.width - tap.column));
      }
    }
  }

  int planes() const { return planes_; }

  /// Computes activations from `[planes][squares]`.
  void run(const float* x, float* y) const {
    const int squares = board_.squares();
    for (int s = 0; s < squares; ++s) std::copy(bias_.begin(), bias_.end(), y + s * stride_);
    // Planes that are the same everywhere (castling rights, counters) are added up first.
    Buffer<float> everywhere(num_taps_ * stride_, 0.0f);
    bool any_everywhere = false;
    for (int plane = 0; plane < planes_; ++plane) {
      const float* values = x + static_cast<std::size_t>(plane) * squares;
      const float* weight = weight_.data() + plane * num_taps_ * stride_;
      if (std::all_of(values, values + squares, [&](float v) { return v == values[0]; })) {
        if (values[0] == 0) continue;
        any_everywhere = true;
        for (std::size_t i = 0; i < everywhere.size(); ++i) everywhere[i] += values[0] * weight[i];
        continue;
      }
      for (int s = 0; s < squares; ++s) {
        if (values[s] != 0) spread(s, values[s], weight, y);
      }
    }
    if (any_everywhere) {
      for (int s = 0; s < squares; ++s) spread(s, 1.0f, everywhere.data(), y);
    }
    if (relu_) {
      for (int i = 0; i < squares * stride_; ++i) y[i] = y[i] < 0 ? 0.0f : y[i];
    }
    std::fill_n(y + squares * stride_, stride_, 0.0f);
  }

 private:
  /// Adds what one square of a plane gives to the squares around it.
  void spread(int square, float value, const float* weight, float* y) const {
    for (std::size_t tap = 0; tap < num_taps_; ++tap) {
      const int target = targets_[square * num_taps_ + tap];
      if (target == board_.squares()) continue;
      const float* w = weight + tap * stride_;
      float* to = y + target * stride_;
      for (int c = 0; c < stride_; c += kLanes) store(to + c, load(to + c) + value * load(w + c));
    }
  }

  BoardSize board_;
  int planes_, stride_;
  std::size_t num_taps_;
  std::vector<int> targets_;  // [squares][taps]
  Buffer<float> weight_, bias_;
  bool relu_;
};

/// Squeeze-and-excitation. Matrices are kept `[columns][rows]`, so that sums run side by side.
class Excitation {
 public:
  /// `squeeze` is `[hidden, channels]`, `excite` `[2 * channels, hidden]`: scales, then shifts.
  Excitation(int channels, int hidden, std::span<const float> squeeze,
             std::span<const float> squeeze_bias, std::span<const float> excite,
             std::span<const float> excite_bias)
      : channels_(channels),
        stride_(round_up(channels, kLine)),
        hidden_(hidden),
        squeeze_(static_cast<std::size_t>(channels) * hidden),
        squeeze_bias_(squeeze_bias.begin(), squeeze_bias.end()),
        excite_(static_cast<std::size_t>(hidden) * 2 * stride_, 0.0f),
        excite_bias_(2 * stride_, 0.0f) {
    const auto wide = static_cast<std::size_t>(channels);
    if (squeeze.size() != wide * hidden || excite.size() != 2 * wide * hidden ||
        squeeze_bias.size() != static_cast<std::size_t>(hidden) || excite_bias.size() != 2 * wide) {
      throw std::invalid_argument("the squeeze-and-excitation does not fit the trunk");
    }
    for (int h = 0; h < hidden; ++h) {
      for (int c = 0; c < channels; ++c) {
        squeeze_[c * hidden + h] = squeeze[h * channels + c];
        for (int part = 0; part < 2; ++part) {
          excite_[(h * 2 + part) * stride_ + c] = excite[(part * channels + c) * hidden + h];
        }
      }
    }
    for (int part = 0; part < 2; ++part) {
      std::copy_n(excite_bias.begin() + part * channels, channels,
                  excite_bias_.begin() + part * stride_);
    }
  }

  void run(float* values, int squares) const {
    Buffer<float> pooled(stride_, 0.0f), hidden(squeeze_bias_), excited(excite_bias_);
    for (int s = 0; s < squares; ++s) {
      for (int c = 0; c < stride_; ++c) pooled[c] += values[s * stride_ + c];
    }
    for (int c = 0; c < channels_; ++c) {
      const float mean = pooled[c] / static_cast<float>(squares);
      for (int h = 0; h < hidden_; ++h) hidden[h] += squeeze_[c * hidden_ + h] * mean;
    }
    for (int h = 0; h < hidden_; ++h) {
      const float value = hidden[h] < 0 ? 0.0f : hidden[h];
      const float* row = excite_.data() + static_cast<std::size_t>(h) * 2 * stride_;
      for (int c = 0; c < 2 * stride_; ++c) excited[c] += row[c] * value;
    }
    float *scale = excited.data(), *shift = scale + stride_;
    for (int c = 0; c < channels_; ++c) scale[c] = 1.0f / (1.0f + std::exp(-scale[c]));
    for (int s = 0; s < squares; ++s) {
      float* at = values + s * stride_;
      for (int c = 0; c < stride_; ++c) at[c] = at[c] * scale[c] + shift[c];
    }
  }

 private:
  int channels_, stride_, hidden_;
  Buffer<float> squeeze_, squeeze_bias_, excite_, excite_bias_;
};

/// How a block ends: what its layers found is added to the trunk.
struct Ending {
  std::optional<Excitation> excitation;
  bool relu;                             // behind the sum
  Buffer<float> norm_scale, norm_shift;  // behind the ReLU, padded; or empty

  void run(float* summand, float* trunk, int squares, int stride) const {
    if (excitation) excitation->run(summand, squares);
    const int size = squares * stride;
    if (relu) {
      for (int i = 0; i < size; ++i) {
        const float sum = trunk[i] + summand[i];
        trunk[i] = sum < 0 ? 0.0f : sum;
      }
    } else {
      for (int i = 0; i < size; ++i) trunk[i] += summand[i];
    }
    if (norm_scale.empty()) return;
    for (int s = 0; s < squares; ++s) {
      float* at = trunk + s * stride;
      for (int c = 0; c < stride; ++c) at[c] = at[c] * norm_scale[c] + norm_shift[c];
    }
  }
};

/// Has `work(scratch, first, last)` called for parts of a batch, each of at most `largest`
/// positions and all of nearly the same size. `scratch` has room for every thread, more if there
/// are more.
template <class Scratch, class Work>
std::shared_ptr<Workers::Job> start_parts(Workers& workers, std::vector<Scratch>& scratch,
                                          int batch, int largest, int threads, Work work) {
  threads = std::clamp(threads, 1, std::max(1, batch));
  if (static_cast<std::size_t>(threads) > scratch.size()) {
    workers.finish_all();
    scratch.resize(threads);
  }
  const int rounds = (batch + threads * largest - 1) / (threads * largest);
  const int parts = std::min(batch, threads * rounds);
  return workers.start(threads, parts, [=, &scratch](int thread, int part) {
    const auto begin = [&](int p) {
      return static_cast<int>(static_cast<std::int64_t>(batch) * p / parts);
    };
    work(scratch[thread], begin(part), begin(part + 1));
  });
}

}  // namespace zerogames::trunk
