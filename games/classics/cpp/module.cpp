#include "connect_four.hpp"
#include "connect_four_solver.hpp"
#include "othello.hpp"
#include "zerogames/bind_exclusive.hpp"
#include "zerogames/bind_play.hpp"

namespace nb = nanobind;
using zerogames::ConnectFour;
using zerogames::ConnectFourSolver;
using zerogames::Othello;
using zerogames::detail::OneThread;

namespace {

/// Solves in one thread at a time; Ctrl-C ends it.
class Solver : public ConnectFourSolver, public OneThread {
 public:
  explicit Solver(std::size_t entries)
      : ConnectFourSolver(entries, [] {
          const nb::gil_scoped_acquire acquired;
          if (PyErr_CheckSignals() != 0) throw nb::python_error();
        }) {}
};

/// A method of the solver, which releases the GIL.
auto solving(int (ConnectFourSolver::*method)(const ConnectFour&)) {
  return [method](Solver& self, const ConnectFour& state) {
    const OneThread::Call call(self);
    const nb::gil_scoped_release released;
    return (self.*method)(state);
  };
}

}  // namespace

NB_MODULE(ZEROGAMES_MODULE, m) {
  zerogames::init_bindings();

  auto connect_four = zerogames::bind_state<ConnectFour>(m, "ConnectFour");
  connect_four.def(nb::init<>())
      .def_static("from_text", &ConnectFour::from_text, nb::arg("text"))
      .def("__str__", &ConnectFour::to_text);
  zerogames::bind_play(connect_four);

  nb::class_<Solver>(m, "ConnectFourSolver")
      .def(
          "__init__",
          [](Solver* self, std::size_t mebibytes) {
            if (mebibytes < 1 || mebibytes > 1 << 16) {
              throw zerogames::Error("the table of a solver has 1 to 65536 MiB");
            }
            new (self) Solver((mebibytes << 20) / sizeof(std::uint64_t));
          },
          nb::arg("mebibytes") = 64)
      .def("result", solving(&ConnectFourSolver::result), nb::arg("state"))
      .def("score", solving(&ConnectFourSolver::score), nb::arg("state"))
      .def_static("plies_left", &Solver::plies_left, nb::arg("state"), nb::arg("score"))
      .def("stop", &Solver::stop)
      .def_prop_ro("nodes", &Solver::nodes);

  auto othello = zerogames::bind_state<Othello>(m, "Othello");
  othello.def(nb::init<int>(), nb::arg("size") = 8)
      .def_static("from_text", &Othello::from_text, nb::arg("size"), nb::arg("text"))
      .def("__str__", &Othello::to_text)
      .def_prop_ro("size", &Othello::size);
  zerogames::bind_play(othello);
}
