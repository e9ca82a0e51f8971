#pragma once

// Products of small float32 matrices: rows of activations with the weights of a layer.

#include <cstddef>

#include "trunk_parts.hpp"

namespace zerogames::trunk {

using kernels::relu;
using kernels::Vec;

/// The sums of a tile stay in registers: AVX-512 has 32, others 16.
inline constexpr int kMostVectors = kLanes == 16 ? 4 : 2;
constexpr int tile_rows(int vectors) {
  if (kLanes == 16) return vectors == 4 ? 6 : 8;
  return vectors == 2 ? 6 : 8;
}

/// The weights of a layer, `[in][out]`, in panels of columns: `[panel][in][columns]`.
class Matrix {
 public:
  Matrix(int in, int out) : in_(in), stride_(round_up(out, kLine)) {
    // Panels of nearly the same width are faster than wide ones and a narrow rest.
    const int vectors = stride_ / kLanes;
    const int panels = (vectors + kMostVectors - 1) / kMostVectors;
    for (int panel = 0; panel < panels; ++panel) {
      const int first = vectors * panel / panels;
      panels_.push_back({first * kLanes, vectors * (panel + 1) / panels - first});
    }
    values_.assign(static_cast<std::size_t>(in) * stride_, 0.0f);
  }

  int stride() const { return stride_; }

  void set(int in, int out, float value) {
    for (const Panel& panel : panels_) {
      const int columns = panel.vectors * kLanes, column = out - panel.first;
      if (column < 0 || column >= columns) continue;
      values_[static_cast<std::size_t>(panel.first) * in_ + in * columns + column] = value;
    }
  }

  /// Rows of `x` times the matrix plus `bias` (padded), and a ReLU if wanted.
  void run(const float* x, int x_stride, int rows, const float* bias, bool relu, float* y) const {
    for (const Panel& panel : panels_) {
      const float* w = values_.data() + static_cast<std::size_t>(panel.first) * in_;
      const Job job{x, x_stride, rows, w, bias + panel.first, relu, y + panel.first};
      switch (panel.vectors) {
        case 1:
          run_panel<1>(job);
          break;
        case 2:
          run_panel<2>(job);
          break;
        case 3:
          run_panel<std::min(3, kMostVectors)>(job);
          break;
        default:
          run_panel<kMostVectors>(job);
      }
    }
  }

 private:
  struct Panel {
    int first, vectors;
  };
  struct Job {
    const float* x;
    int x_stride, rows;
    const float* w;
    const float* bias;
    bool relu;
    float* y;
  };

  template <int V>
  void run_panel(const Job& job) const {
    constexpr int kRows = tile_rows(V);
    const int tiles = (job.rows + kRows - 1) / kRows;
    for (int tile = 0; tile < tiles; ++tile) {
      const int first = job.rows * tile / tiles, rows = job.rows * (tile + 1) / tiles - first;
      run_rows<V, kRows>(job, first, rows);
    }
  }

  template <int V, int R>
  void run_rows(const Job& job, int first, int rows) const {
    if constexpr (R > 1) {
      if (rows < R) return run_rows<V, R - 1>(job, first, rows);
    }
    const float* x = job.x + static_cast<std::size_t>(first) * job.x_stride;
    const float* w = job.w;
    Vec sums[R][V];
    for (int r = 0; r < R; ++r) {
      for (int v = 0; v < V; ++v) sums[r][v] = load(job.bias + v * kLanes);
    }
    for (int k = 0; k < in_; ++k, w += V * kLanes) {
      Vec weights[V];
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) weights[v] = load(w + v * kLanes);
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
        const float value = x[r * static_cast<std::ptrdiff_t>(job.x_stride) + k];
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) sums[r][v] += value * weights[v];
      }
    }
    float* y = job.y + static_cast<std::size_t>(first) * stride_;
    for (int r = 0; r < R; ++r) {
      for (int v = 0; v < V; ++v) {
        store(y + static_cast<std::size_t>(r) * stride_ + v * kLanes,
              job.relu ? trunk::relu(sums[r][v]) : sums[r][v]);
      }
    }
  }

  int in_, stride_;
  std::vector<Panel> panels_;
  Buffer<float> values_;
};

}  // namespace zerogames::trunk
