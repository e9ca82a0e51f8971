#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "perft.hpp"
#include "state.hpp"
#include "zerogames/bind_play.hpp"

namespace nb = nanobind;
using namespace zerogames;
using chess::State;

/// Deeper counts would not end either, but would need more stack than there is.
static constexpr int kDeepest = 100;

/// Counts per first move as (UCI, nodes). Ctrl-C, and what `check` raises, end it in a moment.
static std::vector<std::pair<std::string, std::uint64_t>> divide(const State& state, int depth,
                                                                 const nb::object& check) {
  const auto answer = [&] {
    const nb::gil_scoped_acquire acquired;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (!check.is_none()) check();
  };
  const chess::Board& board = state.board();
  std::vector<std::pair<std::string, std::uint64_t>> counts;
  chess::for_each_move(board, state.checks(), [&](chess::Move move) {
    chess::Board next = board;
    next.play(move);
    std::uint64_t nodes;
    {
      const nb::gil_scoped_release released;
      nodes = chess::perft(next, std::clamp(depth, 0, kDeepest) - 1, answer);
    }
    answer();
    counts.emplace_back(chess::format_uci(board, move), nodes);
  });
  return counts;
}

NB_MODULE(ZEROGAMES_MODULE, m) {
  init_bindings();

  auto state = bind_state<State>(m, "State");
  state.def(nb::init<>())
      .def_static("from_fen", &State::from_fen, nb::arg("fen"), nb::arg("chess960") = false)
      .def_prop_ro("fen", [](const State& self) { return chess::format_fen(self.board()); })
      .def("__str__", [](const State& self) { return chess::format_fen(self.board()); })
      .def_prop_ro("chess960", [](const State& self) { return self.board().chess960; })
      .def_prop_ro("in_check", &State::in_check)
      .def_prop_ro("repetitions", &State::repetitions)
      .def_prop_ro("halfmoves", [](const State& self) { return self.board().halfmoves; })
      .def(
          "parse_uci",
          [](const State& self, std::string_view text) {
            if (self.result()) throw Error("the game is over: " + std::string(self.end_reason()));
            return chess::action_of(chess::parse_uci(self.board(), self.checks(), text));
          },
          nb::arg("text"))
      .def(
          "uci",
          [](const State& self, Action action) {
            if (action < 0 || action >= self.action_size() || !self.is_legal(action)) {
              throw Error("action " + std::to_string(action) + " is not legal here");
            }
            return chess::format_uci(self.board(), chess::move_of(self.board(), action));
          },
          nb::arg("action"))
      .def(
          "perft",
          [](const State& self, int depth) {
            const nb::gil_scoped_release released;
            return chess::perft(self.board(), std::clamp(depth, 0, kDeepest), [] {
              const nb::gil_scoped_acquire acquired;
              if (PyErr_CheckSignals() != 0) throw nb::python_error();
            });
          },
          nb::arg("depth"))
      .def("divide", &divide, nb::arg("depth"), nb::arg("check") = nb::none());
  bind_play(state);

  m.def("action_names", [] {
    std::vector<std::string> names;
    for (Action action = 0; action < chess::kNumActions; ++action) {
      names.push_back(chess::action_name(action));
    }
    return names;
  });
  m.def("conv_policy_map", [] { return detail::to_array(chess::conv_policy_map()); });
  m.def("attention_policy_map", [] { return detail::to_array(chess::attention_policy_map()); });
}
