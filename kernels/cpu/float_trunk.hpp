#pragma once

// The trunk of a net in float32. Groups of positions pass through all layers together: small enough
// that activations stay in the cache, large enough to amortise the loads of the weights.

#include "output.hpp"

namespace zerogames::trunk {

/// A norm and a ReLU.
struct NormRelu {
  Buffer<float> scale, shift;  // padded

  void run(const float* x, int rows, float* y) const {
    const int stride = static_cast<int>(scale.size());
    for (int r = 0; r < rows; ++r, x += stride, y += stride) {
      for (int c = 0; c < stride; c += kLanes) {
        store(y + c, kernels::relu(load(x + c) * load(scale.data() + c) + load(shift.data() + c)));
      }
    }
  }
};

/// KataGo's bias from the whole board. Of the layer before it the last channels are pooled behind a
/// ReLU: averages, scaled averages, maxima; a dense layer of these is added to the other channels.
class PooledBias {
 public:
  /// `weight` is `[channels, 3 * pooled]`.
  PooledBias(int channels, int pooled, std::span<const float> weight, float factor)
      : channels_(channels),
        pooled_(pooled),
        factor_(factor),
        dense_(3 * pooled, channels, weight, Buffer<float>(channels, 0.0f)) {}

  int in() const { return channels_ + pooled_; }
  int out() const { return channels_; }
  int stride() const { return dense_.stride(); }

  /// From the activations of a position `[squares + 1][in]` to `[squares + 1][out]` behind a ReLU.
  void run(const float* x, int squares, float* y) const {
    const int wide = round_up(in(), kLine);
    Buffer<float> pooled(3 * pooled_, 0.0f), bias(stride());
    float *means = pooled.data(), *scaled = means + pooled_, *largest = scaled + pooled_;
    for (int s = 0; s < squares; ++s) {
      const float* at = x + s * wide + channels_;
      for (int c = 0; c < pooled_; ++c) {
        const float value = at[c] < 0 ? 0.0f : at[c];
        means[c] += value;
        largest[c] = value > largest[c] ? value : largest[c];
      }
    }
    for (int c = 0; c < pooled_; ++c) {
      means[c] /= static_cast<float>(squares);
      scaled[c] = means[c] * factor_;
    }
    dense_.run(pooled.data(), 3 * pooled_, 1, false, bias.data());
    for (int s = 0; s < squares; ++s) {
      const float* from = x + s * wide;
      float* to = y + s * stride();
      for (int c = 0; c < channels_; ++c) {
        const float sum = from[c] + bias[c];
        to[c] = sum < 0 ? 0.0f : sum;
      }
      std::fill(to + channels_, to + stride(), 0.0f);
    }
    std::fill_n(y + squares * stride(), stride(), 0.0f);
  }

 private:
  int channels_, pooled_;
  float factor_;
  Dense dense_;
};

/// A block: two layers with a ReLU between them, and the sum with the block's input.
struct Block {
  std::optional<NormRelu> before;  // in front of the first layer
  Convolution first;
  std::optional<PooledBias> bias;  // behind the first layer
  Convolution last;
  Ending ending;
};

/// Serves one caller at a time, others wait: threads and memory for activations are kept between
/// calls.
class Trunk {
 public:
  Trunk(const BoardSize& board, int channels, Stem stem)
      : board_(board),
        channels_(channels),
        stride_(round_up(channels, kLine)),
        stem_(std::move(stem)) {}

  const BoardSize& board() const { return board_; }
  int channels() const { return channels_; }
  int planes() const { return stem_.planes(); }
  const std::vector<Output>& outputs() const { return outputs_; }
  void add(Block block) {
    const auto caller = settle();
    blocks_.push_back(std::move(block));
  }
  void set_tip(NormRelu tip) {
    const auto caller = settle();
    tip_ = std::move(tip);
  }
  void add(Output output) {
    const auto caller = settle();
    outputs_.push_back(std::move(output));
  }

  /// Begins to go from `[batch][planes][squares]` to the outputs, `[batch][size]` each; they are
  /// there when the job is finished.
  std::shared_ptr<Workers::Job> start(const float* x, int batch, std::vector<float*> to,
                                      int threads) {
    const auto caller = workers_.caller();
    return start_parts(workers_, scratch_, batch, positions_together(), threads,
                       [this, x, to = std::move(to)](Scratch& scratch, int first, int last) {
                         run_part(x, first, last - first, to, scratch);
                       });
  }

  void finish(Workers::Job& job) {
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

  struct Scratch {
    Buffer<float> trunk, normed, inner, biased, summand;
    Output::Scratch output;
  };

  int positions_together() const { return std::max(1, kSquaresTogether / board_.squares()); }

  void run_part(const float* x, int first, int positions, std::span<float* const> to,
                Scratch& scratch) const {
    const int squares = board_.squares();
    const std::size_t size = static_cast<std::size_t>(squares + 1) * stride_;
    scratch.trunk.resize(positions * size);
    scratch.summand.resize(positions * size);
    float* trunk = scratch.trunk.data();
    for (int p = 0; p < positions; ++p) {
      stem_.run(x + static_cast<std::size_t>(first + p) * stem_.planes() * squares,
                trunk + p * size);
    }
    for (const Block& block : blocks_) run_block(block, positions, scratch);
    if (tip_) run_norm(*tip_, positions, trunk, trunk);
    run_outputs(outputs_, trunk, first, positions, to, scratch.output);
  }

  /// The square that stands for everything off the board stays zero.
  void run_norm(const NormRelu& norm, int positions, const float* x, float* y) const {
    const int squares = board_.squares();
    const std::size_t size = static_cast<std::size_t>(squares + 1) * stride_;
    for (int p = 0; p < positions; ++p, x += size, y += size) {
      norm.run(x, squares, y);
      std::fill_n(y + squares * stride_, stride_, 0.0f);
    }
  }

  void run_block(const Block& block, int positions, Scratch& scratch) const {
    const int squares = board_.squares();
    const std::size_t rows = static_cast<std::size_t>(positions) * (squares + 1);
    const float* input = scratch.trunk.data();
    if (block.before) {
      scratch.normed.resize(rows * stride_);
      run_norm(*block.before, positions, input, scratch.normed.data());
      input = scratch.normed.data();
    }
    scratch.inner.resize(rows * block.first.stride());
    const float* inner = scratch.inner.data();
    block.first.run(input, positions, !block.bias, scratch.inner.data(), scratch.output.winograd);
    if (block.bias) {
      scratch.biased.resize(rows * block.bias->stride());
      for (int p = 0; p < positions; ++p) {
        const std::size_t at = static_cast<std::size_t>(p) * (squares + 1);
        block.bias->run(inner + at * block.first.stride(), squares,
                        scratch.biased.data() + at * block.bias->stride());
      }
      inner = scratch.biased.data();
    }
    block.last.run(inner, positions, false, scratch.summand.data(), scratch.output.winograd);
    for (int p = 0; p < positions; ++p) {
      const std::size_t at = static_cast<std::size_t>(p) * (squares + 1) * stride_;
      block.ending.run(scratch.summand.data() + at, scratch.trunk.data() + at, squares, stride_);
    }
  }

  static constexpr int kSquaresTogether = 512;

  BoardSize board_;
  int channels_, stride_;
  Stem stem_;
  std::vector<Block> blocks_;
  std::optional<NormRelu> tip_;  // behind the last block
  std::vector<Output> outputs_;
  std::vector<Scratch> scratch_;
  Workers workers_;
};

}  // namespace zerogames::trunk
