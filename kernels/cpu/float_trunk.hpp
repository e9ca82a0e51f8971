#pragma once

// The trunk of a net in float32. Groups of positions pass through all layers together: small enough
// that activations stay in the cache, large enough to amortise the loads of the weights.

#include "output.hpp"

namespace zerogames::trunk {

/// A block: two layers with a ReLU between them, and the sum with the block's input.
struct Block {
  Convolution first;
  Convolution last;
  Ending ending;
};

/// Serves one caller at a time: threads and memory for activations are kept between calls.
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
  void add(Block block) { blocks_.push_back(std::move(block)); }
  void add(Output output) { outputs_.push_back(std::move(output)); }

  /// Begins to go from `[batch][planes][squares]` to the outputs, `[batch][size]` each; they are
  /// there when the job is finished.
  std::shared_ptr<Workers::Job> start(const float* x, int batch, std::vector<float*> to,
                                      int threads) {
    return start_parts(workers_, scratch_, batch, positions_together(), threads,
                       [this, x, to = std::move(to)](Scratch& scratch, int first, int last) {
                         run_part(x, first, last - first, to, scratch);
                       });
  }

  void finish(Workers::Job& job) { workers_.finish(job); }

 private:
  struct Scratch {
    Buffer<float> trunk, inner, summand;
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
    run_outputs(outputs_, trunk, first, positions, to, scratch.output);
  }

  void run_block(const Block& block, int positions, Scratch& scratch) const {
    const int squares = board_.squares();
    scratch.inner.resize(static_cast<std::size_t>(positions) * (squares + 1) *
                         block.first.stride());
    block.first.run(scratch.trunk.data(), positions, true, scratch.inner.data(),
                    scratch.output.winograd);
    block.last.run(scratch.inner.data(), positions, false, scratch.summand.data(),
                   scratch.output.winograd);
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
  std::vector<Output> outputs_;
  std::vector<Scratch> scratch_;
  Workers workers_;
};

}  // namespace zerogames::trunk
