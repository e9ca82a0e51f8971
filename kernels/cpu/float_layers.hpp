#pragma once

// Layers in float32, from the activations of some positions to activations.

#include <variant>

#include "winograd.hpp"

namespace zerogames::trunk {

/// A matrix and a bias for rows of numbers.
class Dense {
 public:
  /// `weight` is `[out, in]`.
  Dense(int in, int out, std::span<const float> weight, std::span<const float> bias)
      : in_(in), out_(out), matrix_(in, out), bias_(matrix_.stride(), 0.0f) {
    if (weight.size() != static_cast<std::size_t>(out) * in ||
        bias.size() != static_cast<std::size_t>(out)) {
      throw std::invalid_argument("the weights of a 1x1 or dense layer do not fit its size");
    }
    std::copy(bias.begin(), bias.end(), bias_.begin());
    for (int o = 0; o < out; ++o) {
      for (int i = 0; i < in; ++i) matrix_.set(i, o, weight[static_cast<std::size_t>(o) * in + i]);
    }
  }

  int in() const { return in_; }
  int out() const { return out_; }
  int stride() const { return matrix_.stride(); }

  void run(const float* x, int x_stride, int rows, bool relu, float* y) const {
    matrix_.run(x, x_stride, rows, bias_.data(), relu, y);
  }

 private:
  int in_, out_;
  Matrix matrix_;
  Buffer<float> bias_;
};

/// A 1x1 convolution: a dense layer for every square.
class Pointwise {
 public:
  /// `weight` is `[out, in]`.
  Pointwise(const BoardSize& board, int in, int out, std::span<const float> weight,
            std::span<const float> bias)
      : squares_(board.squares()), in_stride_(round_up(in, kLine)), dense_(in, out, weight, bias) {}

  int stride() const { return dense_.stride(); }

  void run(const float* x, int positions, bool relu, float* y, Winograd::Scratch&) const {
    for (int p = 0; p < positions; ++p) {
      dense_.run(x, in_stride_, squares_, relu, y);
      x += (squares_ + 1) * in_stride_;
      y += (squares_ + 1) * stride();
      std::fill_n(y - stride(), stride(), 0.0f);
    }
  }

 private:
  int squares_, in_stride_;
  Dense dense_;
};

/// A convolution with all input channels, in the way that suits its window.
class Convolution {
 public:
  /// `weight` is `[out, in, taps]`, one tap or nine.
  Convolution(const BoardSize& board, int in, int out, std::span<const float> weight,
              std::span<const float> bias)
      : in_(in), out_(out), layer_(make(board, in, out, weight, bias)) {}

  int in() const { return in_; }
  int out() const { return out_; }
  int stride() const { return round_up(out_, kLine); }

  void run(const float* x, int positions, bool relu, float* y, Winograd::Scratch& scratch) const {
    std::visit([&](const auto& layer) { layer.run(x, positions, relu, y, scratch); }, layer_);
  }

 private:
  using Layer = std::variant<Winograd, Pointwise>;

  static Layer make(const BoardSize& board, int in, int out, std::span<const float> weight,
                    std::span<const float> bias) {
    if (weight.size() == static_cast<std::size_t>(out) * in) {
      return Pointwise(board, in, out, weight, bias);
    }
    return Winograd(board, in, out, weight, bias);
  }

  int in_, out_;
  Layer layer_;
};

}  // namespace zerogames::trunk
