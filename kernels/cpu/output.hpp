#pragma once

// An output of a trunk, always float32: the trunk's planes, or those of the first layers of a head,
// or chosen numbers of these planes, or the result of dense layers on them.

#include "float_layers.hpp"

namespace zerogames::trunk {

class Output {
 public:
  struct Layer {
    Convolution convolution;
    bool relu;
  };
  struct DenseLayer {
    Dense dense;
    bool relu;
  };

  struct Scratch {
    Buffer<float> from, to;
    Winograd::Scratch winograd;
  };

  /// `channels` are those of the trunk, which are the output if there are no layers. `chosen` are
  /// indices into `[channels][squares]` of the last layer, empty for all; `dense` layers follow.
  Output(const BoardSize& board, int channels, std::vector<Layer> layers,
         std::span<const std::int64_t> chosen, std::vector<DenseLayer> dense)
      : squares_(board.squares()),
        channels_(channels),
        layers_(std::move(layers)),
        dense_(std::move(dense)) {
    for (const Layer& layer : layers_) {
      if (layer.convolution.in() != channels_) {
        throw std::invalid_argument("the layers of an output do not fit the trunk");
      }
      channels_ = layer.convolution.out();
    }
    const std::int64_t size = static_cast<std::int64_t>(squares_) * channels_;
    for (const std::int64_t place : chosen) {
      if (place < 0 || place >= size) {
        throw std::invalid_argument("an output chooses a place that there is not");
      }
      chosen_.push_back(place_of(static_cast<int>(place)));
    }
    int numbers = num_planar();
    for (const DenseLayer& layer : dense_) {
      if (layer.dense.in() != numbers) {
        throw std::invalid_argument("the dense layers of an output do not fit its planes");
      }
      numbers = layer.dense.out();
    }
  }

  int channels() const { return channels_; }
  /// Whether planes leave, not a mere row of numbers.
  bool has_planes() const { return chosen_.empty() && dense_.empty(); }
  /// Numbers for each position.
  int size() const { return dense_.empty() ? num_planar() : dense_.back().dense.out(); }

  /// Copies activations to `[positions][size]`.
  void run(const float* x, int positions, float* y, Scratch& scratch) const {
    for (const Layer& layer : layers_) {
      scratch.to.resize(static_cast<std::size_t>(positions) * (squares_ + 1) *
                        layer.convolution.stride());
      layer.convolution.run(x, positions, layer.relu, scratch.to.data(), scratch.winograd);
      std::swap(scratch.from, scratch.to);
      x = scratch.from.data();
    }
    if (dense_.empty()) {
      run_planar(x, positions, y);
      return;
    }
    // `x` may lie in `from`.
    scratch.to.resize(static_cast<std::size_t>(positions) * num_planar());
    run_planar(x, positions, scratch.to.data());
    int stride = num_planar();
    for (const auto& [dense, relu] : dense_) {
      std::swap(scratch.from, scratch.to);
      scratch.to.resize(static_cast<std::size_t>(positions) * dense.stride());
      dense.run(scratch.from.data(), stride, positions, relu, scratch.to.data());
      stride = dense.stride();
    }
    for (int p = 0; p < positions; ++p) {
      std::copy_n(scratch.to.data() + static_cast<std::size_t>(p) * stride, size(), y + p * size());
    }
  }

 private:
  int num_planar() const {
    return chosen_.empty() ? squares_ * channels_ : static_cast<int>(chosen_.size());
  }

  /// The planes, or what is chosen of them, in the usual order.
  void run_planar(const float* x, int positions, float* y) const {
    const int stride = round_up(channels_, kLine);
    for (int p = 0; p < positions; ++p) {
      if (chosen_.empty()) {
        for (int c = 0; c < channels_; ++c) {
          for (int s = 0; s < squares_; ++s) y[c * squares_ + s] = x[s * stride + c];
        }
      } else {
        for (std::size_t i = 0; i < chosen_.size(); ++i) y[i] = x[chosen_[i]];
      }
      x += (squares_ + 1) * stride;
      y += num_planar();
    }
  }

  /// The place in the activations of a place in `[channels][squares]`.
  int place_of(int place) const {
    return place % squares_ * round_up(channels_, kLine) + place / squares_;
  }

  int squares_, channels_;
  std::vector<Layer> layers_;
  std::vector<int> chosen_;
  std::vector<DenseLayer> dense_;
};

/// The outputs of a trunk for some positions of a batch, which begin at `first`.
inline void run_outputs(std::span<const Output> outputs, const float* trunk, int first,
                        int positions, std::span<float* const> to, Output::Scratch& scratch) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::size_t before = static_cast<std::size_t>(first) * outputs[i].size();
    outputs[i].run(trunk, positions, to[i] + before, scratch);
  }
}

}  // namespace zerogames::trunk
