#include "board_depthwise_layer.hpp"

#include <set>
#include <stdexcept>
#include <utility>

// Compiled from ../cuda/board_depthwise.cu.
extern "C" int zerogames_board_depthwise(int form, int precision, const void* x, const void* weight,
                                         const void* bias, void* y, int batch, int channels,
                                         int height, int width, const int* offsets, int groups,
                                         int taps, int relu, void* stream);

namespace zerogames::tensorrt {
namespace {

constexpr int kForm = 2;  // opti2, the live taps only
constexpr int kRadius = 2;
constexpr int kMaxTaps = 25;
constexpr int kMaxGroups = 32;
constexpr int kMaxBoard = 25;
constexpr int kMaxChannels = 1 << 20;
constexpr std::int32_t kFormatVersion = 1;
constexpr std::size_t kHeader = 5;  // version, groups, taps, channels, relu

void require(bool condition, const std::string& otherwise) {
  if (!condition) throw std::invalid_argument("BoardDepthwise: " + otherwise);
}

std::string format(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    text += (i > 0 ? ", " : "") + (shape[i] < 0 ? "?" : std::to_string(shape[i]));
  }
  return text + "]";
}

bool fits(std::int64_t dimension, std::int64_t wanted) {
  return dimension < 0 || dimension == wanted;
}

}  // namespace

BoardDepthwiseLayer::BoardDepthwiseLayer(std::vector<std::int32_t> offsets, int groups,
                                         int channels, bool relu)
    : offsets_(std::move(offsets)), groups_(groups), channels_(channels), relu_(relu) {
  require(groups_ >= 1 && groups_ <= kMaxGroups,
          "1 to 32 groups of channels, not " + std::to_string(groups_));
  require(channels_ >= groups_ && channels_ <= kMaxChannels,
          std::to_string(channels_) + " channels cannot be shared by " + std::to_string(groups_) +
              " groups");
  require(!offsets_.empty() && offsets_.size() % (2 * static_cast<std::size_t>(groups_)) == 0,
          std::to_string(offsets_.size()) + " offsets are not rows and columns of " +
              std::to_string(groups_) + " groups with equally many taps");
  require(taps() <= kMaxTaps, "at most 25 taps, not " + std::to_string(taps()));
  for (int group = 0; group < groups_; ++group) {
    std::set<std::pair<int, int>> seen;
    for (int tap = 0; tap < taps(); ++tap) {
      const std::size_t at = 2 * static_cast<std::size_t>(group * taps() + tap);
      const int row = offsets_[at], column = offsets_[at + 1];
      require(row >= -kRadius && row <= kRadius && column >= -kRadius && column <= kRadius,
              "a tap at (" + std::to_string(row) + ", " + std::to_string(column) +
                  ") lies outside the 5x5 window");
      require(seen.emplace(row, column).second, "a group has the same tap twice");
    }
  }
}

bool BoardDepthwiseLayer::supports(std::size_t position, std::span<const TensorLayout> tensors) {
  if (position >= kInputs + kOutputs || position >= tensors.size()) return false;
  const TensorLayout& tensor = tensors[position];
  return tensor.linear && tensor.type != ElementType::kOther && tensor.type == tensors[0].type;
}

void BoardDepthwiseLayer::check(const InputShapes& shapes) const {
  const auto& x = shapes.x;
  require(x.size() == 4 && fits(x[1], channels_),
          "x must be [batch, " + std::to_string(channels_) + ", height, width], not " + format(x));
  for (const auto side : {x[2], x[3]}) {
    require(side < 0 || (side >= 1 && side <= kMaxBoard),
            "boards are 1x1 to 25x25, not " + format({x[2], x[3]}));
  }
  require(shapes.weight.size() == 2 && fits(shapes.weight[0], channels_) &&
              fits(shapes.weight[1], taps()),
          "the weight must be [" + std::to_string(channels_) + ", " + std::to_string(taps()) +
              "], not " + format(shapes.weight));
  require(shapes.bias.size() == 1 && fits(shapes.bias[0], channels_),
          "the bias must be [" + std::to_string(channels_) + "], not " + format(shapes.bias));
  require(x[0] <= INT32_MAX / channels_, "a batch of " + std::to_string(x[0]) + " is too large");
}

int BoardDepthwiseLayer::enqueue(ElementType type, const InputShapes& shapes, const void* x,
                                 const void* weight, const void* bias, void* y,
                                 void* stream) const {
  check(shapes);
  require(type != ElementType::kOther, "single or half precision only");
  for (const auto dimension : shapes.x) {
    require(dimension >= 0, "the shape of x is not known: " + format(shapes.x));
  }
  return zerogames_board_depthwise(kForm, type == ElementType::kHalf ? 16 : 32, x, weight, bias, y,
                                   static_cast<int>(shapes.x[0]), channels_,
                                   static_cast<int>(shapes.x[2]), static_cast<int>(shapes.x[3]),
                                   offsets_.data(), groups_, taps(), relu_ ? 1 : 0, stream);
}

std::vector<std::int32_t> BoardDepthwiseLayer::serialize() const {
  std::vector<std::int32_t> data = {kFormatVersion, groups_, taps(), channels_, relu_ ? 1 : 0};
  data.insert(data.end(), offsets_.begin(), offsets_.end());
  return data;
}

BoardDepthwiseLayer BoardDepthwiseLayer::deserialize(std::span<const std::int32_t> data) {
  require(data.size() >= kHeader, "an engine file ends too early");
  require(data[0] == kFormatVersion,
          "an engine file of version " + std::to_string(data[0]) + "; this plugin reads version 1");
  const std::int64_t groups = data[1], taps = data[2];
  const auto offsets = data.subspan(kHeader);
  require(static_cast<std::int64_t>(offsets.size()) == 2 * groups * taps &&
              (data[4] == 0 || data[4] == 1),
          "an engine file is damaged");
  return {{offsets.begin(), offsets.end()}, data[1], data[3], data[4] == 1};
}

std::string BoardDepthwiseLayer::describe() const {
  std::string text = "channels=" + std::to_string(channels_) +
                     " groups=" + std::to_string(groups_) + " relu=" + (relu_ ? "1" : "0") +
                     " offsets=";
  for (std::size_t i = 0; i < offsets_.size(); ++i) {
    text += (i > 0 ? "," : "") + std::to_string(offsets_[i]);
  }
  return text;
}

}  // namespace zerogames::tensorrt
