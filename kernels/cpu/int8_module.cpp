// The int8 trunk as a Python module; `zerogames.evaluate.int8_` builds it from an exported file.

#include <nanobind/stl/pair.h>

#include "int8_trunk.hpp"
#include "trunk_binding.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace zerogames::int8;
using zerogames::trunk::all;
using zerogames::trunk::Array;
using zerogames::trunk::part;
using zerogames::trunk::Result;

namespace {

/// Weight, scale and bias of a layer.
using Layer = nb::tuple;

Convolution make_convolution(const Geometry& board, const Layer& layer) {
  const auto weight = nb::cast<Array<std::int8_t, 4>>(part(layer, 0));
  const auto scale = nb::cast<Array<float, 1>>(part(layer, 1)),
             bias = nb::cast<Array<float, 1>>(part(layer, 2));
  zerogames::trunk::check_channels({weight.shape(0), weight.shape(1)});
  return Convolution(board, static_cast<int>(weight.shape(1)), static_cast<int>(weight.shape(0)),
                     zerogames::trunk::window(weight.shape(2), weight.shape(3)), all(weight),
                     all(scale), all(bias));
}

/// `input`: inverse scale and zero; `layers`: first, depthwise or None, last.
void add_block(Trunk& trunk, const std::pair<float, int>& input, const nb::tuple& layers,
               const nb::object& excitation, bool relu, const nb::object& norm) {
  const Geometry& board = trunk.board();
  const auto [inverse_scale, zero] = input;
  const nb::object depthwise = nb::borrow(part(layers, 1));
  if (zero < 0 || zero > 255) throw std::invalid_argument("a uint8 zero is 0 to 255");
  Block block{.input = {inverse_scale, zero},
              .first = make_convolution(board, nb::cast<Layer>(part(layers, 0))),
              .depthwise = {},
              .last = make_convolution(board, nb::cast<Layer>(part(layers, 2))),
              .ending = zerogames::trunk::make_ending(trunk.channels(), excitation, relu, norm)};
  if (!depthwise.is_none()) {
    const auto layer = nb::cast<Layer>(depthwise);
    const auto weight = nb::cast<Array<std::int8_t, 2>>(part(layer, 0));
    const auto scale = nb::cast<Array<float, 1>>(part(layer, 1)),
               bias = nb::cast<Array<float, 1>>(part(layer, 2));
    zerogames::trunk::check_channels({weight.shape(0)});
    block.depthwise.emplace(board, static_cast<int>(weight.shape(0)), all(weight), all(scale),
                            all(bias));
    if (static_cast<int>(weight.shape(0)) != block.first.out()) {
      throw std::invalid_argument("the depthwise layer does not fit the one before it");
    }
  }
  zerogames::trunk::check_block(block, trunk.channels());
  trunk.add(std::move(block));
}

zerogames::trunk::Pending<Trunk> start(Trunk& trunk, const Array<float, 4>& planes,
                                       const std::vector<Result>& outs, int threads, bool vnni) {
  return zerogames::trunk::start_trunk(
      trunk, planes, outs, threads,
      [&](const float* x, int batch, const std::vector<float*>& to, int most) {
        return trunk.start(x, batch, to, most, vnni && has_vnni());
      });
}

void run(Trunk& trunk, const Array<float, 4>& planes, const std::vector<Result>& outs, int threads,
         bool vnni) {
  start(trunk, planes, outs, threads, vnni).finish();
}

}  // namespace

NB_MODULE(ZEROGAMES_MODULE, m) {
  nb::set_leak_warnings(false);
  m.def("has_vnni", &has_vnni);
  zerogames::trunk::bind_trunk<Trunk>(m)
      .def("add_block", &add_block, nb::kw_only(), "input"_a, "layers"_a, "excitation"_a.none(),
           "relu"_a, "norm"_a.none())
      .def("start", &start, "planes"_a, "outs"_a, nb::kw_only(), "threads"_a = 1, "vnni"_a = true,
           nb::keep_alive<0, 1>())
      .def("run", &run, "planes"_a, "outs"_a, nb::kw_only(), "threads"_a = 1, "vnni"_a = true);
}
