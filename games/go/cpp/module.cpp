#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cmath>

#include "playout.hpp"
#include "sgf_game.hpp"
#include "state.hpp"
#include "zerogames/bind_play.hpp"

namespace nb = nanobind;
using namespace zerogames;
using namespace zerogames::go;

namespace {

/// A new int8 array [size, size]: +1 on the points of the first set, -1 on those of the second.
nb::object signed_map(int size, const Points& plus, const Points& minus) {
  npy_intp dims[2] = {size, size};
  PyObject* array = PyArray_ZEROS(2, dims, NPY_INT8, 0);
  if (!array) throw nb::python_error();
  auto* data = static_cast<std::int8_t*>(PyArray_DATA(zerogames::detail::as_array(array)));
  plus.for_each([&](Point point) { data[point] = 1; });
  minus.for_each([&](Point point) { data[point] = -1; });
  return nb::steal(array);
}

nb::object points_to_actions(const Points& points) {
  std::vector<Action> actions;
  points.for_each([&](Point point) { actions.push_back(point); });
  return zerogames::detail::to_array(actions);
}

nb::bytes to_bytes(const std::string& text) { return nb::bytes(text.data(), text.size()); }

/// Iterates over the lines of SGF data; keeps the data alive.
class SgfReader {
 public:
  SgfReader(nb::bytes data, bool all_lines)
      : data_(std::move(data)), parser_({data_.c_str(), data_.size()}, all_lines) {}

  /// None at the end.
  std::optional<SgfGame> next() {
    if (!parser_.next(line_)) return std::nullopt;
    return SgfGame(line_);
  }
  int tree() const { return parser_.tree(); }
  std::size_t offset() const { return parser_.offset(); }

 private:
  nb::bytes data_;
  SgfParser parser_;
  SgfLine line_;
};

}  // namespace

NB_MODULE(ZEROGAMES_MODULE, m) {
  init_bindings();

  nb::class_<Rules>(m, "Rules")
      .def(
          "__init__",
          [](Rules* self, float komi, std::string_view ko, bool suicide, bool friendly_pass,
             int max_plies) {
            if (!std::isfinite(komi)) throw Error("komi must be a number");
            if (max_plies < 0) throw Error("max_plies must be 0, no limit, or more");
            new (self) Rules{.komi = komi,
                             .ko = parse_ko(ko),
                             .suicide = suicide,
                             .friendly_pass = friendly_pass,
                             .max_plies = max_plies};
          },
          nb::kw_only(), nb::arg("komi") = 7.5F, nb::arg("ko") = "positional",
          nb::arg("suicide") = true, nb::arg("friendly_pass") = false, nb::arg("max_plies") = 0)
      .def_ro("komi", &Rules::komi)
      .def_ro("suicide", &Rules::suicide)
      .def_ro("friendly_pass", &Rules::friendly_pass)
      .def_ro("max_plies", &Rules::max_plies);

  auto state = bind_state<State>(m, "Go");
  state
      .def(
          "__init__",
          [](State* self, int size, const Rules& rules, int handicap) {
            check_size(size);
            if (handicap == 0) {
              new (self) State(size, rules);
            } else {
              new (self) State(
                  State::from_stones(size, rules, fixed_handicap(size, handicap), {}, kWhite));
            }
          },
          nb::arg("size") = 19, nb::arg("rules") = Rules{}, nb::kw_only(), nb::arg("handicap") = 0)
      .def_static(
          "from_sgf",
          [](std::string_view text, int size, const Rules& rules) {
            return state_from_sgf(size, rules, text);
          },
          nb::arg("text"), nb::arg("size") = 19, nb::arg("rules") = Rules{})
      .def("__str__", &state_to_sgf)
      .def_prop_ro("size", &State::size)
      .def_prop_ro("rules", &State::rules, nb::rv_policy::copy)
      .def_prop_ro("passes", &State::passes)
      .def_prop_ro("score", &State::score)
      .def("board",
           [](const State& self) {
             return signed_map(self.size(), self.board().stones(kBlack),
                               self.board().stones(kWhite));
           })
      .def("ownership",
           [](const State& self) {
             const Area owned = area(self.board());
             return signed_map(self.size(), owned.owned[kBlack], owned.owned[kWhite]);
           })
      .def("banned", [](const State& self) { return points_to_actions(self.banned()); })
      .def("sensible_actions",
           [](const State& self) { return points_to_actions(self.sensible_points()); })
      .def(
          "with_turn",
          [](const State& self, int player) {
            if (player != 0 && player != 1) throw Error("a player is 0 (Black) or 1 (White)");
            State next = self;
            next.give_turn_to(static_cast<Colour>(player));
            return next;
          },
          nb::arg("player"))
      .def("unconditionally_alive",
           [](const State& self) {
             return signed_map(self.size(), unconditionally_alive(self.board(), kBlack),
                               unconditionally_alive(self.board(), kWhite));
           })
      .def(
          "playout_ownership",
          [](const State& self, int playouts, std::uint64_t seed) {
            if (playouts < 1 || playouts > 100'000) throw Error("playouts must be 1 to 100000");
            std::vector<float> mean;
            {
              const nb::gil_scoped_release release;
              mean = playout_ownership(self.board(), static_cast<Colour>(self.to_play()), playouts,
                                       seed);
            }
            return zerogames::detail::to_array(mean).attr("reshape")(self.size(), self.size());
          },
          nb::kw_only(), nb::arg("playouts") = 400, nb::arg("seed") = 0)
      .def(
          "ladders",
          [](const State& self, int nodes, int depth) {
            if (nodes < 0 || nodes > 1'000'000 || depth < 0 || depth > 1000) {
              throw Error("ladders are read with 0 to 1000000 nodes and a depth of 0 to 1000");
            }
            const Ladders found = self.ladders({.nodes = nodes, .depth = depth});
            return signed_map(self.size(), found.unsettled, found.lost);
          },
          nb::kw_only(), nb::arg("nodes") = LadderLimits().nodes,
          nb::arg("depth") = LadderLimits().depth);

  bind_play(state);

  nb::class_<SgfGame>(m, "SgfGame")
      .def_prop_ro("size", &SgfGame::size)
      .def_prop_ro("starts_empty", &SgfGame::starts_empty)
      .def_prop_ro("num_moves", [](const SgfGame& self) { return self.moves().size(); })
      .def_prop_ro("moves",
                   [](const SgfGame& self) {
                     nb::list moves;
                     for (const auto& [player, action] : self.moves()) {
                       moves.append(nb::make_tuple(static_cast<int>(player), action));
                     }
                     return moves;
                   })
      .def("start", &SgfGame::start, nb::arg("rules"))
      .def_prop_ro("tags",
                   [](const SgfGame& self) {
                     nb::dict tags;
                     for (const auto& [name, value] : self.tags()) {
                       tags[nb::str(name.data(), name.size())] = to_bytes(value);
                     }
                     return tags;
                   })
      .def_prop_ro("comments",
                   [](const SgfGame& self) {
                     nb::dict comments;
                     for (const auto& [ply, text] : self.comments()) {
                       comments[nb::int_(ply)] = to_bytes(text);
                     }
                     return comments;
                   })
      .def(
          "replay",
          [](const SgfGame& self, const Rules& rules) {
            static thread_local std::vector<Action> actions;
            const State start = self.start(rules);
            State end = self.replay(start, actions);
            return nb::make_tuple(start, zerogames::detail::to_array(actions), std::move(end));
          },
          nb::arg("rules"));

  nb::class_<SgfReader>(m, "SgfReader")
      .def(nb::init<nb::bytes, bool>(), nb::arg("data"), nb::kw_only(),
           nb::arg("all_lines") = false)
      .def("next", &SgfReader::next)
      .def_prop_ro("tree", &SgfReader::tree)
      .def_prop_ro("offset", &SgfReader::offset);

  m.def(
      "fixed_handicap",
      [](int size, int stones) {
        check_size(size);
        const std::vector<Point> points = fixed_handicap(size, stones);
        const std::vector<Action> actions(points.begin(), points.end());
        return zerogames::detail::to_array(actions);
      },
      nb::arg("size"), nb::arg("stones"));
}
