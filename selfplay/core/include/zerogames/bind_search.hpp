#pragma once

// Python's view of search.hpp; zerogames/search/_search.pyi has its types.

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <optional>
#include <tuple>
#include <vector>

#include "zerogames/bind_exclusive.hpp"
#include "zerogames/bind_leaves.hpp"
#include "zerogames/bind_settings.hpp"
#include "zerogames/bind_tree.hpp"
#include "zerogames/search.hpp"

namespace zerogames::detail {

/// A search with all it needs from Python.
template <Game G>
struct BoundSearch : OneThread {
  BoundSearch(const G& state, const SearchSettings& settings, std::string_view encoding,
              std::uint64_t seed, bool needs_observation)
      : context(settings),
        search(context, state, seed),
        planes(state, encoding, needs_observation) {
    start_default();
  }

  void start_default() { start(std::nullopt, true, true, std::nullopt); }

  void start(std::optional<int> simulations, bool explore, bool may_stop_early,
             std::optional<std::vector<Action>> allowed) {
    const int budget = simulations.value_or(context.settings.simulations);
    if (budget < 0) throw Error("simulations must be at least 0");
    if (allowed && allowed->empty()) throw Error("allowed must name at least one action");
    search.start({.simulations = budget,
                  .explore = explore,
                  .may_stop_early = may_stop_early,
                  .allowed = allowed.value_or(std::vector<Action>())});
  }

  nb::object collect(std::size_t max_batch, nb::handle out) {
    require_batch_size(max_batch);
    if (out.is_none() && search.num_leaves() > 0) {
      throw Error("apply the collected batch first, or give each batch an array of its own");
    }
    return planes.fill(out, max_batch,
                       [&](auto on_leaf) { return search.collect(max_batch, on_leaf); });
  }

  void apply(nb::handle policy_logits, nb::handle wdl, nb::handle moves_left) {
    const NetOutputs net = read_net_outputs(policy_logits, wdl, moves_left, search.num_leaves(),
                                            search.root_state().action_size());
    without_gil<G>([&] { search.apply_batch(net); });
  }

  template <class T, class Get>
  nb::object column(Get get) const {
    std::vector<T> values;
    for (const RootChild& child : search.view().children()) {
      values.push_back(static_cast<T>(get(child)));
    }
    return to_array(values);
  }

  SearchContext context;
  Search<G> search;
  LeafPlanes<G> planes;
};

constexpr const char* kSearchDoc = R"(One position and its tree.

L is the number of legal moves; columns are in ascending order of actions, as `actions` says, and
empty before the root is evaluated. The search is done when the budget is used up, or the root
proven, decided or over. All values are in [-1, 1], the view of the player to move at the root,
unless said otherwise. One thread at a time may use it.)";
constexpr const char* kStartDoc = R"(Begin again from the present tree.

Args:
    simulations: The budget; visits that are kept count if the settings say so.
    explore: With root noise, root policy temperature, forced playouts, Gumbel noise.
    may_stop_early: Obey the setting `early_stop`; off where all moves' values are wanted.
    allowed: The root actions to search and choose from; by default all.)";
constexpr const char* kCollectDoc =
    R"(Grow the tree until `max_batch` leaves wait; their planes `[B, P, H, W]`.

The array is a view of a buffer that is used again, or of `out`. It may be empty before the search
is done, because simulations that need no net are bounded per call. With an `out` for each, further
batches can be collected before the first is applied.)";
constexpr const char* kTreeDoc =
    R"(The whole tree as columns, parents first, each node in its own player's view.

`parent` (index, -1 for the root), `action`, `visits`, `num_legal`, `value`, `prior`, `net_value`,
the proven bounds `low` and `high`, and `side`, the player to move: 0 or 1.)";

template <Game G>
void bind_search(nb::handle state_class) {
  using Self = BoundSearch<G>;
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  nb::class_<Self>(state_class, "Search", kSearchDoc)
      .def(
          "__init__",
          [](Self* self, const G& state, nb::handle settings, std::string_view encoding,
             std::uint64_t seed, bool needs_observation) {
            new (self)
                Self(state, read_search_settings(settings), encoding, seed, needs_observation);
          },
          nb::arg("state"), nb::arg("settings"), nb::kw_only(), nb::arg("encoding"),
          nb::arg("seed") = 0, nb::arg("needs_observation") = true)
      .def("set_position", one_thread([](Self& self, nb::handle state) {
             if (self.search.num_leaves() > 0) throw Error("apply the collected batch first");
             G position = from_python<G>(state, self.search.root_state().action_size());
             self.planes.require_fits(position);
             self.search.set_position(std::move(position));
             self.start_default();
           }),
           nb::arg("state"), "Forget the tree and begin a search of `state`.")
      .def("advance", one_thread([](Self& self, Action action) {
             without_gil<G>([&] { self.search.advance(action); });
             self.start_default();
           }),
           nb::arg("action"),
           "Play an action, keep its subtree if the settings say so, and begin the next search.")
      .def("start", one_thread(&Self::start), nb::arg("simulations") = nb::none(), nb::kw_only(),
           nb::arg("explore") = true, nb::arg("may_stop_early") = true,
           nb::arg("allowed") = nb::none(), kStartDoc)
      .def("collect", one_thread(&Self::collect), nb::arg("max_batch"), nb::arg("out") = nb::none(),
           kCollectDoc)
      .def("apply", one_thread(&Self::apply), nb::arg("policy_logits"), nb::arg("wdl"),
           nb::arg("moves_left") = nb::none(), kApplyDoc)
      .def("run_constant", one_thread([](Self& self, std::tuple<float, float, float> wdl) {
             const auto [win, draw, loss] = wdl;
             without_gil<G>([&] { self.search.run_constant({win - loss, draw, 0}); });
           }),
           nb::arg("wdl") = std::tuple(0.0F, 1.0F, 0.0F),
           "Search to the end with equal priors and `wdl` as the value of every position.")
      .def("choose", one_thread([](Self& self, std::optional<double> temperature) {
             const int ply = self.search.root_state().plies();
             return self.search.view().choose(
                 temperature.value_or(temperature_at(self.context.settings, ply)),
                 self.search.random());
           }),
           nb::arg("temperature") = nb::none(),
           "The action to play; by default at the temperature that the schedule has at this ply.")
      .def("principal_variation",
           one_thread([](const Self& self, std::size_t length, std::optional<Action> first) {
             return to_array(self.search.view().principal_variation(length, first));
           }),
           nb::arg("length") = 256, nb::arg("first") = nb::none(),
           "The best line; with `first`, the best one that begins with this action.")
      .def("fix_gumbels", one_thread([](Self& self, std::vector<double> noise) {
             self.search.fix_gumbels(std::move(noise));
           }),
           nb::arg("noise"),
           "Use this Gumbel noise per action from the next root on, instead of drawing it.")
      .def("tree", one_thread([](const Self& self) { return tree_columns(self.search.tree()); }),
           kTreeDoc)
      .def_prop_ro("state",
                   one_thread([](const Self& self) { return to_python(self.search.root_state()); }),
                   "The root's position.")
      .def_prop_ro("done", one_thread([](const Self& self) { return self.search.done(); }),
                   kDoneDoc)
      .def_prop_ro("tree_size",
                   one_thread([](const Self& self) { return self.search.tree().size(); }), "Nodes.")
      .def_prop_ro("tree_bytes",
                   one_thread([](const Self& self) { return self.search.tree().bytes(); }),
                   kTreeBytesDoc)
      .def_prop_ro("simulations", one_thread([](const Self& self) {
                     const Node& root = self.search.root();
                     return root.visits > 0 ? root.visits - 1 : 0;
                   }),
                   "Visits of the root's children.")
      .def_prop_ro("value", one_thread([](const Self& self) { return self.search.root().value; }),
                   "Mean value of the root.")
      .def_prop_ro("draw", one_thread([](const Self& self) { return self.search.root().draw; }),
                   "Mean probability of a draw.")
      .def_prop_ro(
          "moves_left", one_thread([](const Self& self) { return self.search.root().moves_left; }),
          "Mean turns to the end: a turn is all that a side does before the other one acts.")
      .def_prop_ro("net_value",
                   one_thread([](const Self& self) { return self.search.root().net_value; }),
                   "The net's own value of the root, win minus loss.")
      .def_prop_ro("net_draw",
                   one_thread([](const Self& self) { return self.search.root().net_draw; }),
                   "The net's probability of a draw.")
      .def_prop_ro("net_moves_left",
                   one_thread([](const Self& self) { return self.search.root().net_moves_left; }),
                   "The net's turns to the end.")
      .def_prop_ro("proven", one_thread([](const Self& self) -> std::optional<int> {
                     const Node& root = self.search.root();
                     if (!root.proven()) return std::nullopt;
                     return root.low;
                   }),
                   "+1, 0 or -1 if the result is certain.")
      .def_prop_ro("actions", one_thread([](const Self& self) {
                     return self.template column<std::int32_t>(
                         [](const RootChild& child) { return child.action; });
                   }),
                   "`[L]` legal actions.")
      .def_prop_ro("visits", one_thread([](const Self& self) {
                     return self.template column<std::int32_t>(
                         [](const RootChild& child) { return child.visits; });
                   }),
                   "`[L]` visits of each move.")
      .def_prop_ro(
          "priors", one_thread([](const Self& self) {
            return self.template column<float>([](const RootChild& child) { return child.prior; });
          }),
          "`[L]`, with temperature and noise.")
      .def_prop_ro("raw_priors", one_thread([](const Self& self) {
                     return to_array(self.search.view().raw_priors());
                   }),
                   "`[L]`, as the net said.")
      .def_prop_ro("values", one_thread([](const Self& self) {
                     return self.template column<double>([](const RootChild& child) {
                       return child.visits > 0 ? child.value : kNaN;
                     });
                   }),
                   "`[L]`, NaN for an unvisited move.")
      .def_prop_ro("draws", one_thread([](const Self& self) {
                     return self.template column<double>([](const RootChild& child) {
                       return child.visits > 0 ? child.draw : kNaN;
                     });
                   }),
                   "`[L]`, NaN for an unvisited move.")
      .def_prop_ro("moves_left_of_actions", one_thread([](const Self& self) {
                     return self.template column<double>([](const RootChild& child) {
                       return child.visits > 0 ? child.moves_left : kNaN;
                     });
                   }),
                   "`[L]`, turns from the root, NaN for an unvisited move.")
      .def_prop_ro("lower_bounds", one_thread([](const Self& self) {
                     return self.template column<std::int8_t>(
                         [](const RootChild& child) { return child.low; });
                   }),
                   "`[L]`: each move is proven to be worth at least this.")
      .def_prop_ro("upper_bounds", one_thread([](const Self& self) {
                     return self.template column<std::int8_t>(
                         [](const RootChild& child) { return child.high; });
                   }),
                   "`[L]`: each move is proven to be worth at most this.")
      .def_prop_ro("policy_target", one_thread([](const Self& self) {
                     return to_array(self.search.view().policy_target());
                   }),
                   "`[L]` probabilities to learn from.")
      .def_prop_ro(
          "mean_depth", one_thread([](const Self& self) { return self.search.mean_depth(); }),
          "Mean length of the lines searched since the start, counted in nodes; 0 without any.")
      .def_prop_ro("max_depth",
                   one_thread([](const Self& self) { return self.search.max_depth(); }),
                   "Longest of them.")
      .def_prop_ro("cache_fill",
                   one_thread([](const Self& self) { return self.context.cache.fill(); }),
                   "Share of the evaluation cache in use.")
      .def_prop_ro("cache_hits",
                   one_thread([](const Self& self) { return self.context.cache.hits(); }),
                   kCacheHitsDoc)
      .def_prop_ro("cache_misses",
                   one_thread([](const Self& self) { return self.context.cache.misses(); }),
                   kCacheMissesDoc)
      .def_prop_rw(
          "net_version", one_thread([](const Self& self) { return self.context.net_version; }),
          one_thread([](Self& self, std::uint64_t version) { self.context.net_version = version; }),
          kNetVersionDoc);
}

}  // namespace zerogames::detail
