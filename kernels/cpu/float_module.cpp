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
      .def("start", &start, "planes"_a, "outs"_a, nb::kw_only(), "threads"_a = 1,
           nb::keep_alive<0, 1>())
      .def("run", &run, "planes"_a, "outs"_a, nb::kw_only(), "threads"_a = 1);
}
