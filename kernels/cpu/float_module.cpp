// The float32 trunk as a Python module; `zerogames.evaluate.native_` builds it from an exported
// net.

#include "float_trunk.hpp"
#include "trunk_binding.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace zerogames::trunk;

namespace {

NormRelu make_norm(int channels, const nb::tuple& norm) {
  return {.scale = padded(nb::cast<Array<float, 1>>(part(norm, 0)), channels),
          .shift = padded(nb::cast<Array<float, 1>>(part(norm, 1)), channels)};
}

void add_block(Trunk& trunk, const nb::tuple& first, const nb::tuple& last,
               const nb::object& excitation, bool relu, const nb::object& norm) {
  Block block{.before = {},
              .first = make_convolution(trunk.board(), first),
              .bias = {},
              .last = make_convolution(trunk.board(), last),
              .ending = make_ending(trunk.channels(), excitation, relu, norm)};
  check_block(block, trunk.channels());
  trunk.add(std::move(block));
}

/// A block whose norms are in front of its layers; `bias` are weights `[out, 3 * pooled]` of the
/// dense layer behind the pooled channels, and the factor of the second averages.
void add_normed_block(Trunk& trunk, const nb::tuple& before, const nb::tuple& first,
                      const nb::tuple& last, const nb::object& bias) {
  Block block{.before = make_norm(trunk.channels(), before),
              .first = make_convolution(trunk.board(), first),
              .bias = {},
              .last = make_convolution(trunk.board(), last),
              .ending = make_ending(trunk.channels(), nb::none(), false, nb::none())};
  int inner = block.first.out();
  if (!bias.is_none()) {
    const auto parts = nb::cast<nb::tuple>(bias);
    const auto weight = nb::cast<Array<float, 2>>(part(parts, 0));
    check_channels({weight.shape(0), weight.shape(1)});
    const int pooled = static_cast<int>(weight.shape(1)) / 3;
    block.bias.emplace(static_cast<int>(weight.shape(0)), pooled, all(weight),
                       nb::cast<float>(part(parts, 1)));
    if (block.bias->in() != inner) {
      throw std::invalid_argument("the pooled channels do not fit the first layer");
    }
    inner = block.bias->out();
  }
  if (block.first.in() != trunk.channels() || block.last.in() != inner ||
      block.last.out() != trunk.channels()) {
    throw std::invalid_argument("the layers of a block do not fit the trunk");
  }
  trunk.add(std::move(block));
}

void set_tip(Trunk& trunk, const nb::tuple& norm) {
  trunk.set_tip(make_norm(trunk.channels(), norm));
}

Pending<Trunk> start(Trunk& trunk, const Array<float, 4>& planes, const std::vector<Result>& outs,
                     int threads) {
  return start_trunk(trunk, planes, outs, threads,
                     [&](const float* x, int batch, const std::vector<float*>& to, int most) {
                       return trunk.start(x, batch, to, most);
                     });
}

void run(Trunk& trunk, const Array<float, 4>& planes, const std::vector<Result>& outs,
         int threads) {
  start(trunk, planes, outs, threads).finish();
}

}  // namespace

NB_MODULE(ZEROGAMES_MODULE, m) {
  nb::set_leak_warnings(false);
  bind_trunk<Trunk>(m)
      .def("add_block", &add_block, nb::kw_only(), "first"_a, "last"_a, "excitation"_a.none(),
           "relu"_a, "norm"_a.none())
      .def("add_normed_block", &add_normed_block, nb::kw_only(), "before"_a, "first"_a, "last"_a,
           "bias"_a.none())
      .def("set_tip", &set_tip, "norm"_a)
      .def("start", &start, "planes"_a, "outs"_a, nb::kw_only(), "threads"_a = 1,
           nb::keep_alive<0, 1>())
      .def("run", &run, "planes"_a, "outs"_a, nb::kw_only(), "threads"_a = 1);
}
