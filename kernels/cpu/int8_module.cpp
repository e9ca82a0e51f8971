// The int8 trunk as a Python module; `zerogames.evaluate.int8_` builds it from an exported file.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "int8_trunk.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace zerogames::int8;

namespace {

template <class T, std::size_t N>
using Array = nb::ndarray<const T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
using Planes = nb::ndarray<float, nb::ndim<4>, nb::c_contig, nb::device::cpu>;

template <class A>
auto all(const A& array) {
  return std::span(array.data(), array.size());
}

std::vector<float> copy(const Array<float, 1>& array) {
  return {array.data(), array.data() + array.size()};
}

/// The places of a square window, row by row.
std::vector<Offset> window(std::size_t height, std::size_t width) {
  if (height != width || height % 2 == 0 || height > 2 * kHalo + 1) {
    throw std::invalid_argument("an int8 layer has a 1x1, 3x3 or 5x5 window");
  }
  const int radius = static_cast<int>(height) / 2;
  std::vector<Offset> places;
  for (int row = -radius; row <= radius; ++row) {
    for (int column = -radius; column <= radius; ++column) places.push_back({row, column});
  }
  return places;
}

Convolution make_convolution(const Geometry& board, const Array<std::int8_t, 4>& weight,
                             const Array<float, 1>& scale, const Array<float, 1>& bias) {
  return Convolution(board, static_cast<int>(weight.shape(1)), static_cast<int>(weight.shape(0)),
                     window(weight.shape(2), weight.shape(3)), all(weight), all(scale), all(bias));
}

std::unique_ptr<Trunk> make_trunk(int height, int width, const Array<float, 4>& weight,
                                  const Array<float, 1>& bias, bool relu) {
  if (height < 1 || height > 25 || width < 1 || width > 25) {
    throw std::invalid_argument("a board has 1 to 25 rows and columns");
  }
  const Geometry board{height, width};
  const auto channels = static_cast<int>(weight.shape(0));
  return std::make_unique<Trunk>(
      board, channels,
      Stem(board, static_cast<int>(weight.shape(1)), channels,
           window(weight.shape(2), weight.shape(3)), all(weight), all(bias), relu));
}

/// Weight, scale and bias of a layer.
using Layer = nb::tuple;

Convolution convolution(const Geometry& board, const Layer& layer) {
  return make_convolution(board, nb::cast<Array<std::int8_t, 4>>(layer[0]),
                          nb::cast<Array<float, 1>>(layer[1]), nb::cast<Array<float, 1>>(layer[2]));
}

void add_block(Trunk& trunk, float inverse_scale, int zero, const Layer& first,
               const nb::object& depthwise, const Layer& last, const nb::object& excitation,
               bool relu, const nb::object& norm) {
  const Geometry& board = trunk.board();
  Block block{.input = {inverse_scale, zero},
              .first = convolution(board, first),
              .depthwise = {},
              .last = convolution(board, last),
              .excitation = {},
              .relu = relu,
              .norm_scale = {},
              .norm_shift = {}};
  const int channels = trunk.channels();
  if (zero < 0 || zero > 255) throw std::invalid_argument("a uint8 zero is 0 to 255");
  if (!depthwise.is_none()) {
    const auto layer = nb::cast<nb::tuple>(depthwise);
    const auto weight = nb::cast<Array<std::int8_t, 2>>(layer[0]);
    const auto scale = nb::cast<Array<float, 1>>(layer[1]),
               bias = nb::cast<Array<float, 1>>(layer[2]);
    block.depthwise.emplace(board, static_cast<int>(weight.shape(0)), all(weight), all(scale),
                            all(bias));
    if (static_cast<int>(weight.shape(0)) != block.first.out()) {
      throw std::invalid_argument("the depthwise layer does not fit the one before it");
    }
  }
  if (block.first.in() != channels || block.last.out() != channels ||
      block.last.in() != block.first.out()) {
    throw std::invalid_argument("the layers of a block do not fit the trunk");
  }
  if (!excitation.is_none()) {
    const auto parts = nb::cast<nb::tuple>(excitation);
    const auto squeeze = nb::cast<Array<float, 2>>(parts[0]);
    const auto excite = nb::cast<Array<float, 2>>(parts[2]);
    Excitation se{.hidden = static_cast<int>(squeeze.shape(0)),
                  .squeeze = {squeeze.data(), squeeze.data() + squeeze.size()},
                  .squeeze_bias = copy(nb::cast<Array<float, 1>>(parts[1])),
                  .excite = {excite.data(), excite.data() + excite.size()},
                  .excite_bias = copy(nb::cast<Array<float, 1>>(parts[3]))};
    const auto wide = static_cast<std::size_t>(channels);
    if (squeeze.shape(1) != wide || excite.shape(0) != 2 * wide ||
        excite.shape(1) != squeeze.shape(0) || se.squeeze_bias.size() != squeeze.shape(0) ||
        se.excite_bias.size() != 2 * wide) {
      throw std::invalid_argument("the squeeze-and-excitation does not fit the trunk");
    }
    block.excitation = std::move(se);
  }
  if (!norm.is_none()) {
    const auto parts = nb::cast<nb::tuple>(norm);
    block.norm_scale = copy(nb::cast<Array<float, 1>>(parts[0]));
    block.norm_shift = copy(nb::cast<Array<float, 1>>(parts[1]));
    if (block.norm_scale.size() != static_cast<std::size_t>(channels) ||
        block.norm_shift.size() != block.norm_scale.size()) {
      throw std::invalid_argument("the norm does not fit the trunk");
    }
  }
  trunk.add(std::move(block));
}

void run(const Trunk& trunk, const Array<float, 4>& planes, const Planes& out, int threads,
         bool vnni) {
  const Geometry& board = trunk.board();
  const auto fits = [&](const auto& array, int depth) {
    return array.shape(1) == static_cast<std::size_t>(depth) &&
           array.shape(2) == static_cast<std::size_t>(board.height) &&
           array.shape(3) == static_cast<std::size_t>(board.width);
  };
  if (!fits(planes, trunk.planes()) || !fits(out, trunk.channels()) ||
      planes.shape(0) != out.shape(0)) {
    throw std::invalid_argument("planes and output do not fit the trunk");
  }
  const nb::gil_scoped_release release;
  trunk.run(planes.data(), static_cast<int>(planes.shape(0)), out.data(), threads,
            vnni && has_vnni());
}

}  // namespace

NB_MODULE(ZEROGAMES_MODULE, m) {
  nb::set_leak_warnings(false);
  m.def("has_vnni", &has_vnni);
  nb::class_<Trunk>(m, "Trunk")
      .def(nb::new_(&make_trunk), "height"_a, "width"_a, "weight"_a, "bias"_a, "relu"_a)
      .def_prop_ro("channels", &Trunk::channels)
      .def("add_block", &add_block, nb::kw_only(), "inverse_scale"_a, "zero"_a, "first"_a,
           "depthwise"_a.none(), "last"_a, "excitation"_a.none(), "relu"_a, "norm"_a.none())
      .def("run", &run, "planes"_a, "out"_a, nb::kw_only(), "threads"_a = 1, "vnni"_a = true);
}
