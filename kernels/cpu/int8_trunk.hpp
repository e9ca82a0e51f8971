#pragma once

// The trunk of a net in int8: stem and blocks, position by position, so that everything between two
// layers stays in the cache. Stem, what blocks add up, and outputs are float32.

#include "int8_layers.hpp"
#include "output.hpp"

namespace zerogames::int8 {

/// How float32 becomes uint8: `value * inverse_scale + zero`.
struct Rounding {
  float inverse_scale;
  int zero;
};

/// A block: one layer, perhaps a depthwise one, one layer back, and the sum with the block's input.
struct Block {
  Rounding input;
  Convolution first;
  std::optional<Depthwise> depthwise;
  Convolution last;
  trunk::Ending ending;
};

/// Serves one caller at a time, others wait: threads and memory for activations are kept between
/// calls.
class Trunk {
 public:
  Trunk(const Geometry& board, int channels, trunk::Stem stem)
      : board_(board),
        channels_(channels),
        stride_(round_up(channels, kLanes)),
        stem_(std::move(stem)) {}

  const Geometry& board() const { return board_; }
  int channels() const { return channels_; }
  int planes() const { return stem_.planes(); }
  const std::vector<trunk::Output>& outputs() const { return outputs_; }
  void add(Block block) {
    const auto caller = settle();
    blocks_.push_back(std::move(block));
  }
  void add(trunk::Output output) {
    const auto caller = settle();
    outputs_.push_back(std::move(output));
  }

  /// Begins to go from `[batch][planes][squares]` to the outputs, `[batch][size]` each; they are
  /// there when the job is finished.
  std::shared_ptr<trunk::Workers::Job> start(const float* x, int batch, std::vector<float*> to,
                                             int threads, bool vnni) {
    const auto caller = workers_.caller();
    return trunk::start_parts(
        workers_, scratch_, batch, kTogether, threads,
        [this, x, to = std::move(to), vnni](Scratch& scratch, int first, int last) {
          run_part(x, first, last - first, to, scratch, vnni);
        });
  }

  void finish(trunk::Workers::Job& job) {
    const auto caller = workers_.caller();
    workers_.finish(job);
  }

 private:
  /// Batches under way read the layers: they end before one is added.
  std::unique_lock<std::mutex> settle() {
    auto caller = workers_.caller();
    workers_.finish_all();
    return caller;
  }

  /// Positions that go through a block before the next block's weights are fetched.
  static constexpr int kTogether = 8;

  struct Scratch {
    Activations input, inner, filtered;
    Buffer<float> trunk, summand;
    int input_zero = -1;
    trunk::Output::Scratch output;
  };

  void run_part(const float* x, int first, int positions, std::span<float* const> to,
                Scratch& scratch, bool vnni) const {
    const int squares = board_.squares();
    const std::size_t size = static_cast<std::size_t>(squares + 1) * stride_;
    scratch.trunk.resize(positions * size);
    scratch.summand.resize(size);
    float* trunk = scratch.trunk.data();
    for (int p = 0; p < positions; ++p) {
      stem_.run(x + static_cast<std::size_t>(first + p) * stem_.planes() * squares,
                trunk + p * size);
    }
    for (const Block& block : blocks_) {
      for (int p = 0; p < positions; ++p) run_block(block, trunk + p * size, scratch, vnni);
    }
    trunk::run_outputs(outputs_, trunk, first, positions, to, scratch.output);
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
    block.last.run(*last, scratch.summand.data(), vnni);
    block.ending.run(scratch.summand.data(), trunk, board_.squares(), stride_);
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

  Geometry board_;
  int channels_, stride_;
  trunk::Stem stem_;
  std::vector<Block> blocks_;
  std::vector<trunk::Output> outputs_;
  std::vector<Scratch> scratch_;
  trunk::Workers workers_;
};

}  // namespace zerogames::int8
