#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "perft.hpp"
#include "state.hpp"
#include "zerogames/bind_play.hpp"

namespace nb = nanobind;
using namespace zerogames;
using shogi::State;

/// Deeper counts would not end either, but would need more stack than there is.
static constexpr int kDeepest = 100;

/// Counts per first move as (USI, nodes). Ctrl-C, and what `check` raises, end it in a moment.
static std::vector<std::pair<std::string, std::uint64_t>> divide(const State& state, int depth,
                                                                 const nb::object& check) {
  const auto answer = [&] {
    const nb::gil_scoped_acquire acquired;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (!check.is_none()) check();
  };
  std::vector<std::pair<std::string, std::uint64_t>> counts;
  shogi::for_each_move(state.board(), state.checks(), [&](shogi::Move move) {
    shogi::Board next = state.board();
    next.play(move);
    std::uint64_t nodes;
    {
      const nb::gil_scoped_release released;
      nodes = shogi::perft(next, std::clamp(depth, 0, kDeepest) - 1, answer);
    }
    answer();
    counts.emplace_back(shogi::format_usi(move), nodes);
  });
  return counts;
}

static shogi::Move legal_move(const State& state, Action action) {
  if (action < 0 || action >= state.action_size() || !state.is_legal(action)) {
    throw Error("action " + std::to_string(action) + " is not legal here");
  }
  return shogi::move_of(state.board(), action);
}

NB_MODULE(ZEROGAMES_MODULE, m) {
  init_bindings();

  auto state = bind_state<State>(m, "State");
  state.def(nb::init<>())
      .def_static(
          "from_sfen",
          [](std::string_view sfen, bool declaration, int max_plies) {
            return State::from_sfen(sfen, {declaration, max_plies});
          },
          nb::arg("sfen"), nb::arg("declaration") = true, nb::arg("max_plies") = 512)
      .def_prop_ro("sfen", [](const State& self) { return shogi::format_sfen(self.board()); })
      .def("__str__", [](const State& self) { return shogi::format_sfen(self.board()); })
      .def_prop_ro("in_check", &State::in_check)
      .def_prop_ro("repetitions", &State::repetitions)
      .def_prop_ro("may_declare", &State::may_declare)
      .def_prop_ro("move_number", [](const State& self) { return self.board().move_number; })
      .def_prop_ro("hands", [](const State& self) { return self.board().hands; })
      .def_prop_ro("squares",
                   [](const State& self) {
                     const auto& squares = self.board().squares;
                     return nb::bytes(reinterpret_cast<const char*>(squares.data()),
                                      squares.size());
                   })
      .def(
          "parse_usi",
          [](const State& self, std::string_view text) {
            if (self.result()) throw Error("the game is over: " + std::string(self.end_reason()));
            return shogi::action_of(self.board(),
                                    shogi::parse_usi(self.board(), self.checks(), text));
          },
          nb::arg("text"))
      .def(
          "usi",
          [](const State& self, Action action) {
            return shogi::format_usi(legal_move(self, action));
          },
          nb::arg("action"))
      .def(
          "perft",
          [](const State& self, int depth) {
            const nb::gil_scoped_release released;
            return shogi::perft(self.board(), std::clamp(depth, 0, kDeepest), [] {
              const nb::gil_scoped_acquire acquired;
              if (PyErr_CheckSignals() != 0) throw nb::python_error();
            });
          },
          nb::arg("depth"))
      .def("divide", &divide, nb::arg("depth"), nb::arg("check") = nb::none());
  bind_play(state);
}
