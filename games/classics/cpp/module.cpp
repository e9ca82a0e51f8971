#include "connect_four.hpp"
#include "connect_four_solver.hpp"
#include "othello.hpp"
#include "zerogames/bind_play.hpp"

namespace nb = nanobind;
using zerogames::ConnectFour;
using zerogames::ConnectFourSolver;
using zerogames::Othello;

NB_MODULE(ZEROGAMES_MODULE, m) {
  zerogames::init_bindings();

  auto connect_four = zerogames::bind_state<ConnectFour>(m, "ConnectFour");
  connect_four.def(nb::init<>())
      .def_static("from_text", &ConnectFour::from_text, nb::arg("text"))
      .def("__str__", &ConnectFour::to_text);
  zerogames::bind_play(connect_four);

  const auto without_gil = nb::call_guard<nb::gil_scoped_release>();
  nb::class_<ConnectFourSolver>(m, "ConnectFourSolver")
      .def(
          "__init__",
          [](ConnectFourSolver* self, std::size_t mebibytes) {
            if (mebibytes < 1 || mebibytes > 1 << 16) throw zerogames::Error("1 to 65536 MiB");
            new (self) ConnectFourSolver((mebibytes << 20) / sizeof(std::uint64_t));
          },
          nb::arg("mebibytes") = 64)
      .def("result", &ConnectFourSolver::result, nb::arg("state"), without_gil)
      .def("score", &ConnectFourSolver::score, nb::arg("state"), without_gil)
      .def_static("plies_left", &ConnectFourSolver::plies_left, nb::arg("state"), nb::arg("score"))
      .def("stop", &ConnectFourSolver::stop)
      .def_prop_ro("nodes", &ConnectFourSolver::nodes);

  auto othello = zerogames::bind_state<Othello>(m, "Othello");
  othello.def(nb::init<int>(), nb::arg("size") = 8)
      .def_static("from_text", &Othello::from_text, nb::arg("size"), nb::arg("text"))
      .def("__str__", &Othello::to_text)
      .def_prop_ro("size", &Othello::size);
  zerogames::bind_play(othello);
}
