#pragma once

// The trunk of a net in int8: stem and blocks, position by position, so that everything between two
// layers stays in the cache. What blocks add up is float32.

#include <memory>
#include <optional>
#include <thread>

#include "int8_layers.hpp"

namespace zerogames::int8 {

/// Positions that go through a block before the next block's weights are fetched.
inline constexpr int kChunk = 4;

/// How float32 becomes uint8: `value * inverse_scale + zero`.
struct Rounding {
  float inverse_scale;
  int zero;
};

/// Squeeze-and-excitation, all in float32; matrices are `[rows][columns]`.
struct Excitation {
  int hidden;
  std::vector<float> squeeze, squeeze_bias;  // [hidden][channels]
  std::vector<float> excite, excite_bias;    // [2 * channels][hidden]
};

/// The first layer in float32. Planes are mostly zeros: only what is not is multiplied.
class Stem {
 public:
  /// `weight` is `[channels, planes, taps]`.
  Stem(const Geometry& board, int planes, int channels, std::span<const Offset> taps,
       std::span<const float> weight, std::span<const float> bias, bool relu)
      : board_(board),
        planes_(planes),
        stride_(round_up(channels, kLanes)),
        taps_(taps.begin(), taps.end()),
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
  }

  int planes() const { return planes_; }

  /// From `[planes][squares]` to `[squares][stride]`.
  void run(const float* x, float* y) const {
    const int squares = board_.squares();
    for (int s = 0; s < squares; ++s) std::copy(bias_.begin(), bias_.end(), y + s * stride_);
    for (int plane = 0; plane < planes_; ++plane) {
      const float* weight = weight_.data() + plane * taps_.size() * stride_;
      for (int s = 0; s < squares; ++s) {
        const float value = x[plane * squares + s];
        if (value == 0) continue;
        for (std::size_t tap = 0; tap < taps_.size(); ++tap) {
          // The square whose tap lies here.
          const int row = s / board_.width - taps_[tap].row;
          const int column = s % board_.width - taps_[tap].column;
          if (row < 0 || row >= board_.height || column < 0 || column >= board_.width) continue;
          const float* w = weight + tap * stride_;
          float* to = y + (row * board_.width + column) * stride_;
          for (int c = 0; c < stride_; ++c) to[c] += value * w[c];
        }
      }
    }
    if (!relu_) return;
    for (int i = 0; i < squares * stride_; ++i) y[i] = std::max(y[i], 0.0f);
  }

 private:
  Geometry board_;
  int planes_, stride_;
  std::vector<Offset> taps_;
  Buffer<float> weight_, bias_;
  bool relu_;
};

/// A block: one layer, perhaps a depthwise one, one layer back, and the sum with what came in.
struct Block {
  Rounding input;
  Convolution first;
  std::optional<Depthwise> depthwise;
  Convolution last;
  std::optional<Excitation> excitation;
  bool relu;                                  // behind the sum
  std::vector<float> norm_scale, norm_shift;  // behind the ReLU, or empty
};

class Trunk {
 public:
  Trunk(const Geometry& board, int channels, Stem stem)
      : board_(board),
        channels_(channels),
        stride_(round_up(channels, kLanes)),
        stem_(std::move(stem)) {}

  const Geometry& board() const { return board_; }
  int channels() const { return channels_; }
  int planes() const { return stem_.planes(); }
  void add(Block block) { blocks_.push_back(std::move(block)); }

  /// From `[batch][planes][squares]` to `[batch][channels][squares]`.
  void run(const float* x, int batch, float* y, int threads, bool vnni) const {
    const int chunks = (batch + kChunk - 1) / kChunk;
    threads = std::clamp(threads, 1, std::max(1, chunks));
    std::vector<std::jthread> others;
    for (int t = 1; t < threads; ++t) {
      others.emplace_back([=, this] { run_chunks(x, batch, y, t, threads, vnni); });
    }
    run_chunks(x, batch, y, 0, threads, vnni);
  }

 private:
  struct Scratch {
    Activations input, inner, filtered;
    Buffer<float> summand;
    int input_zero = -1;
  };

  void run_chunks(const float* x, int batch, float* y, int thread, int threads, bool vnni) const {
    const int squares = board_.squares();
    const std::size_t size = static_cast<std::size_t>(squares) * stride_;
    Buffer<float> trunk(kChunk * size);
    Scratch scratch;
    scratch.summand.resize(size);
    for (int first = thread * kChunk; first < batch; first += threads * kChunk) {
      const int count = std::min(kChunk, batch - first);
      for (int i = 0; i < count; ++i) {
        stem_.run(x + static_cast<std::size_t>(first + i) * stem_.planes() * squares,
                  trunk.data() + i * size);
      }
      for (const Block& block : blocks_) {
        for (int i = 0; i < count; ++i) run_block(block, trunk.data() + i * size, scratch, vnni);
      }
      for (int i = 0; i < count; ++i) {
        const float* from = trunk.data() + i * size;
        float* to = y + static_cast<std::size_t>(first + i) * channels_ * squares;
        for (int c = 0; c < channels_; ++c) {
          for (int s = 0; s < squares; ++s) to[c * squares + s] = from[s * stride_ + c];
        }
      }
    }
  }

  void run_block(const Block& block, float* trunk, Scratch& scratch, bool vnni) const {
    if (scratch.input_zero != block.input.zero) {  // the rim must mean 0
      scratch.input.resize(board_, stride_, static_cast<std::uint8_t>(block.input.zero));
      scratch.input_zero = block.input.zero;
    }
    const int inner = block.first.padded_out();
    if (scratch.inner.stride != round_up(inner, 64)) {
      scratch.inner.resize(board_, inner, 0);
      scratch.filtered.resize(board_, inner, 0);
    }
    round_trunk(block.input, trunk, scratch.input);
    block.first.run(scratch.input, scratch.inner, vnni);
    const Activations* last = &scratch.inner;
    if (block.depthwise) {
      block.depthwise->run(scratch.inner, scratch.filtered, vnni);
      last = &scratch.filtered;
    }
    float* summand = scratch.summand.data();
    block.last.run(*last, summand, vnni);
    if (block.excitation) excite(*block.excitation, summand);
    const int size = board_.squares() * stride_;
    if (block.relu) {
      for (int i = 0; i < size; ++i) trunk[i] = std::max(trunk[i] + summand[i], 0.0f);
    } else {
      for (int i = 0; i < size; ++i) trunk[i] += summand[i];
    }
    if (block.norm_scale.empty()) return;
    for (int s = 0; s < board_.squares(); ++s) {
      float* at = trunk + s * stride_;
      for (int c = 0; c < channels_; ++c) {
        at[c] = std::fma(at[c], block.norm_scale[c], block.norm_shift[c]);
      }
    }
  }

  void round_trunk(const Rounding& rounding, const float* trunk, Activations& to) const {
    const auto zero = static_cast<float>(rounding.zero);
    for (int s = 0; s < board_.squares(); ++s) {
      const float* from = trunk + s * stride_;
      std::uint8_t* bytes = to.at(board_.padded_square(s));
#if defined(ZEROGAMES_VNNI)
      for (int c = 0; c < stride_; c += kLanes) {
        const __m512 steps =
            _mm512_fmadd_ps(_mm512_loadu_ps(from + c), _mm512_set1_ps(rounding.inverse_scale),
                            _mm512_set1_ps(zero));
        const __m512 inside =
            _mm512_max_ps(_mm512_min_ps(steps, _mm512_set1_ps(255)), _mm512_setzero_ps());
        _mm_storeu_si128(reinterpret_cast<__m128i*>(bytes + c),
                         _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(inside)));
      }
#else
      for (int c = 0; c < stride_; ++c) {
        bytes[c] = to_byte(std::fma(from[c], rounding.inverse_scale, zero));
      }
#endif
    }
  }

  void excite(const Excitation& se, float* summand) const {
    const int squares = board_.squares();
    std::vector<float> pooled(stride_, 0.0f), hidden(se.hidden), scale(stride_), shift(stride_);
    for (int s = 0; s < squares; ++s) {
      for (int c = 0; c < stride_; ++c) pooled[c] += summand[s * stride_ + c];
    }
    for (float& value : pooled) value /= static_cast<float>(squares);
    for (int h = 0; h < se.hidden; ++h) {
      float sum = se.squeeze_bias[h];
      for (int c = 0; c < channels_; ++c) sum += se.squeeze[h * channels_ + c] * pooled[c];
      hidden[h] = std::max(sum, 0.0f);
    }
    const auto excited = [&](int row) {
      float sum = se.excite_bias[row];
      for (int h = 0; h < se.hidden; ++h) sum += se.excite[row * se.hidden + h] * hidden[h];
      return sum;
    };
    for (int c = 0; c < channels_; ++c) {
      scale[c] = 1.0f / (1.0f + std::exp(-excited(c)));
      shift[c] = excited(channels_ + c);
    }
    for (int s = 0; s < squares; ++s) {
      float* at = summand + s * stride_;
      for (int c = 0; c < stride_; ++c) at[c] = at[c] * scale[c] + shift[c];
    }
  }

  Geometry board_;
  int channels_, stride_;
  Stem stem_;
  std::vector<Block> blocks_;
};

}  // namespace zerogames::int8
