// The float32 trunk as a Python module; `zerogames.evaluate.native_` builds it from an exported
// net.

#include "float_trunk.hpp"
#include "trunk_binding.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace zerogames::trunk;

namespace {

void add_block(Trunk& trunk, const nb::tuple& first, const nb::tuple& last,
               const nb::object& excitation, bool relu, const nb::object& norm) {
  Block block{.first = make_convolution(trunk.board(), first),
              .last = make_convolution(trunk.board(), last),
              .ending = make_ending(trunk.channels(), excitation, relu, norm)};
  check_block(block, trunk.channels());
  trunk.add(std::move(block));
}

void run(Trunk& trunk, const Array<float, 4>& planes, const std::vector<Result>& outs,
         int threads) {
  run_trunk(trunk, planes, outs, threads,
            [&](const float* x, int batch, std::span<float* const> to, int most) {
              trunk.run(x, batch, to, most);
            });
}

}  // namespace

NB_MODULE(ZEROGAMES_MODULE, m) {
  nb::set_leak_warnings(false);
  bind_trunk<Trunk>(m)
      .def("add_block", &add_block, nb::kw_only(), "first"_a, "last"_a, "excitation"_a.none(),
           "relu"_a, "norm"_a.none())
      .def("run", &run, "planes"_a, "outs"_a, nb::kw_only(), "threads"_a = 1);
}
