#pragma once

// 3x3 convolutions by Winograd's F(4x4, 3x3): 36 products give a tile of 16 squares that would take
// 144 (Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2015). A board of 8x8
// is four tiles; other boards are covered by tiles whose rest is thrown away.
//
// Each of the 36 products of a tile is a matrix product over channels: `[tiles][in] x [in][out]`.
// The transforms before and after it work on a vector of channels at a time.

#include <array>

#include "matrix.hpp"

namespace zerogames::trunk {

class Winograd {
 public:
  static constexpr int kTile = 4;
  static constexpr int kWindow = kTile + 2;
  static constexpr int kProducts = kWindow * kWindow;

  /// Room for the transformed tiles of some positions; kept between calls.
  struct Scratch {
    Buffer<float> inputs, products;
  };

  /// `weight` is `[out, in, 3, 3]`.
  Winograd(const BoardSize& board, int in, int out, std::span<const float> weight,
           std::span<const float> bias)
      : squares_(board.squares()),
        in_stride_(round_up(in, kLine)),
        bias_(round_up(out, kLine), 0.0f),
        nothing_(bias_.size(), 0.0f) {
    if (weight.size() != static_cast<std::size_t>(out) * in * 9 ||
        bias.size() != static_cast<std::size_t>(out)) {
      throw std::invalid_argument("the weights of a 3x3 layer do not fit its size");
    }
    std::copy(bias.begin(), bias.end(), bias_.begin());
    matrices_.assign(kProducts, Matrix(in, out));
    for (int o = 0; o < out; ++o) {
      for (int i = 0; i < in; ++i) {
        transform_weight(weight.subspan((static_cast<std::size_t>(o) * in + i) * 9, 9), i, o);
      }
    }
    for (int row = 0; row < board.height; row += kTile) {
      for (int column = 0; column < board.width; column += kTile) {
        Tile tile;
        for (int i = 0; i < kProducts; ++i) {
          tile.reads[i] = board.square(row + i / kWindow - 1, column + i % kWindow - 1);
        }
        for (int i = 0; i < kTile * kTile; ++i) {
          tile.writes[i] = board.square(row + i / kTile, column + i % kTile);
        }
        tiles_.push_back(tile);
      }
    }
  }

  int stride() const { return matrices_[0].stride(); }

  /// Computes activations from activations of `positions`.
  void run(const float* x, int positions, bool relu, float* y, Scratch& scratch) const {
    const int rows = positions * static_cast<int>(tiles_.size());
    // A line more than needed: 36 places a power of two apart would share one set of the cache.
    const std::size_t in_step = static_cast<std::size_t>(rows) * in_stride_ + kLine;
    const std::size_t out_step = static_cast<std::size_t>(rows) * stride() + kLine;
    reserve(scratch.inputs, kProducts * in_step);
    reserve(scratch.products, kProducts * out_step);
    float* inputs = scratch.inputs.data();
    for (int p = 0; p < positions; ++p, x += (squares_ + 1) * in_stride_) {
      for (const Tile& tile : tiles_) {
        transform_input(tile, x, inputs, in_step);
        inputs += in_stride_;
      }
    }
    for (int i = 0; i < kProducts; ++i) {
      matrices_[i].run(scratch.inputs.data() + i * in_step, in_stride_, rows, nothing_.data(),
                       false, scratch.products.data() + i * out_step);
    }
    const float* products = scratch.products.data();
    for (int p = 0; p < positions; ++p, y += (squares_ + 1) * stride()) {
      for (const Tile& tile : tiles_) {
        transform_output(tile, products, out_step, relu, y);
        products += stride();
      }
      std::fill_n(y + squares_ * stride(), stride(), 0.0f);
    }
  }

 private:
  struct Tile {
    std::array<int, kProducts> reads;
    std::array<int, kTile * kTile> writes;
  };

  static void reserve(Buffer<float>& buffer, std::size_t size) {
    if (buffer.size() < size) buffer.resize(size);
  }

  void transform_weight(std::span<const float> weight, int in, int out) {
    static constexpr double kG[kWindow][3] = {{1.0 / 4, 0, 0},
                                              {-1.0 / 6, -1.0 / 6, -1.0 / 6},
                                              {-1.0 / 6, 1.0 / 6, -1.0 / 6},
                                              {1.0 / 24, 1.0 / 12, 1.0 / 6},
                                              {1.0 / 24, -1.0 / 12, 1.0 / 6},
                                              {0, 0, 1}};
    for (int row = 0; row < kWindow; ++row) {
      for (int column = 0; column < kWindow; ++column) {
        double sum = 0;
        for (int i = 0; i < 9; ++i) sum += kG[row][i / 3] * kG[column][i % 3] * weight[i];
        matrices_[row * kWindow + column].set(in, out, static_cast<float>(sum));
      }
    }
  }

  static std::array<Vec, kWindow> before(const std::array<Vec, kWindow>& d) {
    const Vec even = d[4] - 4.0f * d[2], odd = d[3] - 4.0f * d[1];
    const Vec even2 = d[4] - d[2], odd2 = 2.0f * (d[3] - d[1]);
    return {4.0f * (d[0] - d[2]) + even2,        even + odd, even - odd, even2 + odd2, even2 - odd2,
            4.0f * (d[1] - d[3]) + (d[5] - d[3])};
  }

  static std::array<Vec, kTile> after(const std::array<Vec, kWindow>& m) {
    const Vec sum = m[1] + m[2], difference = m[1] - m[2];
    const Vec sum2 = m[3] + m[4], difference2 = m[3] - m[4];
    return {m[0] + sum + sum2, difference + 2.0f * difference2, sum + 4.0f * sum2,
            difference + 8.0f * difference2 + m[5]};
  }

  void transform_input(const Tile& tile, const float* x, float* to, std::size_t step) const {
    for (int c = 0; c < in_stride_; c += kLanes) {
      std::array<std::array<Vec, kWindow>, kWindow> half;  // [column][row]
      for (int column = 0; column < kWindow; ++column) {
        std::array<Vec, kWindow> d;
        for (int row = 0; row < kWindow; ++row) {
          d[row] = load(x + tile.reads[row * kWindow + column] * in_stride_ + c);
        }
        half[column] = before(d);
      }
      for (int row = 0; row < kWindow; ++row) {
        std::array<Vec, kWindow> d;
        for (int column = 0; column < kWindow; ++column) d[column] = half[column][row];
        d = before(d);
        for (int column = 0; column < kWindow; ++column) {
          store(to + (row * kWindow + column) * step + c, d[column]);
        }
      }
    }
  }

  void transform_output(const Tile& tile, const float* from, std::size_t step, bool relu,
                        float* y) const {
    for (int c = 0; c < stride(); c += kLanes) {
      std::array<std::array<Vec, kTile>, kWindow> half;  // [column][row]
      for (int column = 0; column < kWindow; ++column) {
        std::array<Vec, kWindow> m;
        for (int row = 0; row < kWindow; ++row) {
          m[row] = load(from + (row * kWindow + column) * step + c);
        }
        half[column] = after(m);
      }
      const Vec bias = load(bias_.data() + c);
      for (int row = 0; row < kTile; ++row) {
        std::array<Vec, kWindow> m;
        for (int column = 0; column < kWindow; ++column) m[column] = half[column][row];
        const std::array<Vec, kTile> results = after(m);
        for (int column = 0; column < kTile; ++column) {
          const int square = tile.writes[row * kTile + column];
          if (square == squares_) continue;
          const Vec result = results[column] + bias;
          store(y + square * stride() + c, relu ? trunk::relu(result) : result);
        }
      }
    }
  }

  int squares_, in_stride_;
  std::vector<Tile> tiles_;
  std::vector<Matrix> matrices_;
  Buffer<float> bias_, nothing_;
};

}  // namespace zerogames::trunk
