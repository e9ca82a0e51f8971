#pragma once

// The board-shaped depthwise layer as a plugin of an inference engine sees it: which tensors it
// takes, what it stores in an engine file, how it is started on a stream. Knows nothing of TensorRT
// (plugin.cpp adapts it), so it is tested where there is none.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace zerogames::tensorrt {

enum class ElementType { kFloat, kHalf, kOther };

/// How a tensor lies in memory; the kernels read contiguous planes only.
struct TensorLayout {
  ElementType type;
  bool linear;
};

/// Inputs x [B, C, H, W], weight [C, K], bias [C]; output y like x. A dimension that is not known
/// yet is -1.
struct InputShapes {
  std::vector<std::int64_t> x, weight, bias;
};

class BoardDepthwiseLayer {
 public:
  static constexpr int kInputs = 3;
  static constexpr int kOutputs = 1;

  /// `offsets` are rows and columns of the taps, [groups, taps, 2], in -2 to 2. Throws
  /// std::invalid_argument that says what the kernels cannot do.
  BoardDepthwiseLayer(std::vector<std::int32_t> offsets, int groups, int channels, bool relu);

  /// Whether tensor number `position` (the inputs, then the output) may have its layout, given
  /// those before it: all are linear and of one type, single or half precision.
  static bool supports(std::size_t position, std::span<const TensorLayout> tensors);

  /// Throws std::invalid_argument if known dimensions do not fit the layer or the kernels.
  void check(const InputShapes& shapes) const;

  /// Starts the kernel on a CUDA stream; all pointers are on the device. Returns 0 or CUDA's error;
  /// throws std::invalid_argument if the shapes do not fit.
  int enqueue(ElementType type, const InputShapes& shapes, const void* x, const void* weight,
              const void* bias, void* y, void* stream) const;

  /// What an engine file keeps: a version, the sizes and the offsets.
  std::vector<std::int32_t> serialize() const;
  static BoardDepthwiseLayer deserialize(std::span<const std::int32_t> data);

  /// One line that tells two layers apart, for timing caches and people.
  std::string describe() const;

  int taps() const { return static_cast<int>(offsets_.size()) / (2 * groups_); }

 private:
  std::vector<std::int32_t> offsets_;
  int groups_;
  int channels_;
  bool relu_;
};

}  // namespace zerogames::tensorrt
