#pragma once

// How trunks in float32 and in int8 are built and run from Python.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "output.hpp"

namespace zerogames::trunk {

namespace nb = nanobind;

template <class T, std::size_t N>
using Array = nb::ndarray<const T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
using Result = nb::ndarray<float, nb::c_contig, nb::device::cpu>;

inline constexpr int kLongestSide = 25;
inline constexpr std::size_t kMostChannels = 1 << 15;
inline constexpr std::size_t kLargestBatch = 1 << 20;

template <class A>
auto all(const A& array) {
  return std::span(array.data(), array.size());
}

/// A part of a layer; unlike `parts[index]` it looks whether there is one.
inline nb::handle part(const nb::tuple& parts, std::size_t index) {
  if (index >= parts.size()) throw std::invalid_argument("a layer has too few parts");
  return PyTuple_GET_ITEM(parts.ptr(), static_cast<Py_ssize_t>(index));
}

/// The places of a square window, row by row.
inline std::vector<Offset> window(std::size_t height, std::size_t width) {
  if (height != width || height % 2 == 0 || height > 5) {
    throw std::invalid_argument("a layer has a 1x1, 3x3 or 5x5 window");
  }
  const int radius = static_cast<int>(height) / 2;
  std::vector<Offset> places;
  for (int row = -radius; row <= radius; ++row) {
    for (int column = -radius; column <= radius; ++column) places.push_back({row, column});
  }
  return places;
}

/// Before any memory is taken for it.
inline void check_channels(std::initializer_list<std::size_t> counts) {
  for (const std::size_t count : counts) {
    if (count < 1 || count > kMostChannels) {
      throw std::invalid_argument("a layer has 1 to 32768 channels");
    }
  }
}

template <class Trunk>
std::unique_ptr<Trunk> make_trunk(int height, int width, const Array<float, 4>& weight,
                                  const Array<float, 1>& bias, bool relu) {
  if (height < 1 || height > kLongestSide || width < 1 || width > kLongestSide) {
    throw std::invalid_argument("a board has 1 to 25 rows and columns");
  }
  check_channels({weight.shape(0), weight.shape(1)});
  const BoardSize board{height, width};
  const auto channels = static_cast<int>(weight.shape(0));
  return std::make_unique<Trunk>(
      std::remove_cvref_t<decltype(std::declval<Trunk>().board())>{board}, channels,
      Stem(board, static_cast<int>(weight.shape(1)), channels,
           window(weight.shape(2), weight.shape(3)), all(weight), all(bias), relu));
}

/// Weight `[out, in, n, n]` and bias of a float32 layer.
inline Convolution make_convolution(const BoardSize& board, const nb::tuple& layer) {
  const auto weight = nb::cast<Array<float, 4>>(part(layer, 0));
  const auto bias = nb::cast<Array<float, 1>>(part(layer, 1));
  check_channels({weight.shape(0), weight.shape(1)});
  if (weight.shape(2) != weight.shape(3) || (weight.shape(2) != 1 && weight.shape(2) != 3)) {
    throw std::invalid_argument("a float32 layer has a 1x1 or 3x3 window");
  }
  return Convolution(board, static_cast<int>(weight.shape(1)), static_cast<int>(weight.shape(0)),
                     all(weight), all(bias));
}

inline Buffer<float> padded(const Array<float, 1>& values, int channels) {
  if (values.size() != static_cast<std::size_t>(channels)) {
    throw std::invalid_argument("the norm does not fit the trunk");
  }
  Buffer<float> result(round_up(channels, kLine), 0.0f);
  std::copy_n(values.data(), values.size(), result.begin());
  return result;
}

inline Ending make_ending(int channels, const nb::object& excitation, bool relu,
                          const nb::object& norm) {
  Ending ending{.excitation = {}, .relu = relu, .norm_scale = {}, .norm_shift = {}};
  if (!excitation.is_none()) {
    const auto parts = nb::cast<nb::tuple>(excitation);
    const auto squeeze = nb::cast<Array<float, 2>>(part(parts, 0)),
               excite = nb::cast<Array<float, 2>>(part(parts, 2));
    const auto squeeze_bias = nb::cast<Array<float, 1>>(part(parts, 1)),
               excite_bias = nb::cast<Array<float, 1>>(part(parts, 3));
    check_channels({squeeze.shape(0)});
    ending.excitation.emplace(channels, static_cast<int>(squeeze.shape(0)), all(squeeze),
                              all(squeeze_bias), all(excite), all(excite_bias));
  }
  if (!norm.is_none()) {
    const auto parts = nb::cast<nb::tuple>(norm);
    ending.norm_scale = padded(nb::cast<Array<float, 1>>(part(parts, 0)), channels);
    ending.norm_shift = padded(nb::cast<Array<float, 1>>(part(parts, 1)), channels);
  }
  return ending;
}

template <class Block>
void check_block(const Block& block, int channels) {
  if (block.first.in() != channels || block.last.out() != channels ||
      block.last.in() != block.first.out()) {
    throw std::invalid_argument("the layers of a block do not fit the trunk");
  }
}

/// Layers are weight, bias and whether a ReLU follows.
template <class Trunk>
void add_output(Trunk& trunk, const std::vector<nb::tuple>& layers,
                const std::optional<Array<std::int64_t, 1>>& chosen,
                const std::vector<nb::tuple>& dense) {
  std::vector<Output::Layer> made;
  for (const nb::tuple& layer : layers) {
    made.push_back({make_convolution(trunk.board(), layer), nb::cast<bool>(part(layer, 2))});
  }
  const auto places = chosen ? all(*chosen) : std::span<const std::int64_t>();
  if (chosen && places.empty()) throw std::invalid_argument("an output chooses something");
  std::vector<Output::DenseLayer> behind;
  for (const nb::tuple& layer : dense) {
    const auto weight = nb::cast<Array<float, 2>>(part(layer, 0));
    const auto bias = nb::cast<Array<float, 1>>(part(layer, 1));
    check_channels({weight.shape(0), weight.shape(1)});
    behind.push_back({Dense(static_cast<int>(weight.shape(1)), static_cast<int>(weight.shape(0)),
                            all(weight), all(bias)),
                      nb::cast<bool>(part(layer, 2))});
  }
  trunk.add(Output(trunk.board(), trunk.channels(), std::move(made), places, std::move(behind)));
}

/// A batch under way; it keeps its arrays.
template <class Trunk>
class Pending {
 public:
  Pending(Trunk& trunk, std::shared_ptr<Workers::Job> job, Array<float, 4> planes,
          std::vector<Result> outs)
      : trunk_(&trunk), job_(std::move(job)), planes_(std::move(planes)), outs_(std::move(outs)) {}
  Pending(Pending&&) = default;
  Pending& operator=(Pending&&) = delete;
  ~Pending() {
    try {
      finish();
    } catch (...) {  // nobody wants the outputs any more
    }
  }

  void finish() {
    const std::shared_ptr<Workers::Job> job = std::move(job_);
    if (job == nullptr) return;
    const nb::gil_scoped_release release;
    trunk_->finish(*job);
  }

 private:
  Trunk* trunk_;
  std::shared_ptr<Workers::Job> job_;
  Array<float, 4> planes_;
  std::vector<Result> outs_;
};

/// Checks sizes, then calls `start(planes, batch, to, threads)`.
template <class Trunk, class Start>
Pending<Trunk> start_trunk(Trunk& trunk, const Array<float, 4>& planes,
                           const std::vector<Result>& outs, int threads, Start start) {
  const BoardSize& board = trunk.board();
  const std::vector<Output>& outputs = trunk.outputs();
  const std::size_t batch = planes.shape(0);
  bool right = batch <= kLargestBatch && outs.size() == outputs.size() &&
               planes.shape(1) == static_cast<std::size_t>(trunk.planes()) &&
               planes.shape(2) == static_cast<std::size_t>(board.height) &&
               planes.shape(3) == static_cast<std::size_t>(board.width);
  std::vector<float*> to;
  for (std::size_t i = 0; right && i < outs.size(); ++i) {
    right = outs[i].ndim() > 0 && outs[i].shape(0) == batch &&
            outs[i].size() == batch * static_cast<std::size_t>(outputs[i].size());
    to.push_back(outs[i].data());
  }
  if (!right) throw std::invalid_argument("planes and outputs do not fit the trunk");
  const auto begin = [&] {
    const nb::gil_scoped_release release;
    return start(planes.data(), static_cast<int>(batch), to, std::clamp(threads, 1, 256));
  };
  return Pending<Trunk>(trunk, begin(), planes, outs);
}

/// Channels, height and width, or how many numbers.
template <class Trunk>
nb::list output_shapes(const Trunk& trunk) {
  nb::list shapes;
  for (const Output& output : trunk.outputs()) {
    const BoardSize& board = trunk.board();
    if (output.has_planes()) {
      shapes.append(nb::make_tuple(output.channels(), board.height, board.width));
    } else {
      shapes.append(nb::make_tuple(output.size()));
    }
  }
  return shapes;
}

/// What both classes have.
template <class Trunk>
nb::class_<Trunk> bind_trunk(nb::module_& m) {
  using namespace nb::literals;
  nb::class_<Pending<Trunk>>(m, "Pending").def("finish", &Pending<Trunk>::finish);
  return nb::class_<Trunk>(m, "Trunk")
      .def(nb::new_(&make_trunk<Trunk>), "height"_a, "width"_a, "weight"_a, "bias"_a, "relu"_a)
      .def_prop_ro("output_shapes", &output_shapes<Trunk>)
      .def("add_output", &add_output<Trunk>, "layers"_a, "chosen"_a.none() = nb::none(),
           "dense"_a = std::vector<nb::tuple>());
}

}  // namespace zerogames::trunk
