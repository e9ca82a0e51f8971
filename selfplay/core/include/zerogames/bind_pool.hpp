#pragma once

// Python's view of pool.hpp; zerogames/search/_search.pyi has its types.

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <string>
#include <utility>
#include <vector>

#include "zerogames/bind_exclusive.hpp"
#include "zerogames/bind_leaves.hpp"
#include "zerogames/bind_settings.hpp"
#include "zerogames/pool.hpp"

namespace zerogames::detail {

/// `games` is a zerogames.search.PoolGames.
template <Game G>
GamePool<G> read_pool(const G& initial, nb::handle search, nb::handle settings, nb::handle games) {
  typename GamePool<G>::Options options;
  read_setting(games, "seed", options.seed);
  read_setting(games, "first_game", options.first_game);
  read_setting(games, "game_step", options.game_step);
  read_setting(games, "num_games", options.num_games);
  std::vector<G> starts;
  for (const nb::handle start : games.attr("starts")) {
    starts.push_back(from_python<G>(start, initial.action_size()));
  }
  return GamePool<G>(initial, std::move(starts), read_search_settings(search),
                     read_pool_settings(settings), options);
}

template <Game G>
struct BoundPool : OneThread {
  BoundPool(const G& initial, nb::handle search, nb::handle settings, nb::handle games,
            std::string_view encoding, bool needs_observation)
      : pool(read_pool<G>(initial, search, settings, games)),
        planes(initial, encoding, needs_observation) {
    for (const G& start : pool.starts()) planes.require_fits(start);
  }

  nb::object collect(nb::handle out) {
    return planes.fill(out, pool.capacity(), [&](auto on_leaf) { return pool.collect(on_leaf); });
  }

  void apply(nb::handle policy_logits, nb::handle wdl, nb::handle moves_left) {
    const NetOutputs net = read_net_outputs(policy_logits, wdl, moves_left, pool.num_rows(),
                                            pool.initial().action_size());
    without_gil<G>([&] { pool.apply(net.logits, net.wdl, net.moves_left); });
  }

  /// One dictionary of numbers and columns for each game; zerogames/search/pool.py names them.
  nb::list take_finished() {
    nb::list games;
    for (const GameLog& log : pool.take_finished()) {
      nb::dict fields;
      fields["index"] = log.index;
      fields["seed"] = log.seed;
      fields["net_version"] = log.net_version;
      fields["start_index"] = log.start;
      fields["result"] = log.result;
      fields["reason"] = log.reason;
      fields["never_resign"] = log.never_resign;
      fields["would_resign_ply"] = log.would_resign_ply;
      fields["lowest_values"] = nb::make_tuple(log.lowest_value[0], log.lowest_value[1]);
      fields["actions"] = to_array(log.actions);
      fields["best_actions"] = to_array(log.best_actions);
      fields["simulations"] = to_array(log.simulations);
      fields["kinds"] = to_array(log.kinds);
      fields["surprise"] = to_array(log.surprise);
      const auto add_values = [&](const char* name, const GameLog::Values& values) {
        fields[(std::string(name) + "_q").c_str()] = to_array(values.q);
        fields[(std::string(name) + "_d").c_str()] = to_array(values.d);
        fields[(std::string(name) + "_m").c_str()] = to_array(values.m);
      };
      add_values("root", log.root);
      add_values("best", log.best);
      add_values("played", log.played);
      add_values("raw", log.net);
      fields["policy_offsets"] = to_array(log.offsets);
      fields["policy_actions"] = to_array(log.searched_actions);
      fields["policy_visits"] = to_array(log.visits);
      fields["policy_targets"] = to_array(log.targets);
      games.append(fields);
    }
    return games;
  }

  GamePool<G> pool;
  LeafPlanes<G> planes;
};

constexpr const char* kPoolDoc = R"(Many games in step, one leaf each per batch.

It is done when all `num_games` were played. One thread at a time may use it, but any thread may
read its numbers.)";
constexpr const char* kPoolCollectDoc =
    R"(Run every game to its next leaf; their planes `[B, P, H, W]`, B <= `capacity`.

The array is a view of a buffer that is used again, or of `out`. Games that end give no leaf in that
call, so B may be 0 while the pool is not done.)";

/// The numbers of a pool may be read by any thread at any time; all else is for one at a time.
template <Game G>
void bind_pool(nb::handle state_class) {
  using Self = BoundPool<G>;
  const auto count = [](auto get) {
    return [get](Self& self) { return static_cast<std::uint64_t>(get(self.pool)); };
  };
  nb::class_<Self>(state_class, "Pool", kPoolDoc)
      .def(nb::init<const G&, nb::handle, nb::handle, nb::handle, std::string_view, bool>(),
           nb::arg("initial"), nb::arg("search"), nb::arg("settings"), nb::arg("games"),
           nb::kw_only(), nb::arg("encoding"), nb::arg("needs_observation") = true)
      .def("collect", one_thread(&Self::collect), nb::arg("out") = nb::none(), kPoolCollectDoc)
      .def("apply", one_thread(&Self::apply), nb::arg("policy_logits"), nb::arg("wdl"),
           nb::arg("moves_left") = nb::none(), kApplyDoc)
      .def("take_finished", one_thread(&Self::take_finished),
           "The columns of the games that ended since the last call; see "
           "`zerogames.search.take_finished`.")
      .def_prop_ro(
          "done", [](const Self& self) { return self.pool.done(); }, kDoneDoc)
      .def_prop_ro(
          "capacity", [](const Self& self) { return self.pool.capacity(); }, "Parallel games.")
      .def_prop_ro("num_simulations", count([](auto& pool) { return pool.num_simulations(); }),
                   "Visits of root children, summed over moves.")
      .def_prop_ro("num_evaluations", count([](auto& pool) { return pool.num_evaluations(); }),
                   "Rows that were given out.")
      .def_prop_ro("num_moves", count([](auto& pool) { return pool.num_moves(); }),
                   "Moves played after the random ones.")
      .def_prop_ro("num_games", count([](auto& pool) { return pool.num_games(); }), "Games ended.")
      .def_prop_ro("num_never_resign", count([](auto& pool) { return pool.num_never_resign(); }),
                   "Games ended that were not allowed to resign.")
      .def_prop_ro("num_would_resign", count([](auto& pool) { return pool.num_would_resign(); }),
                   "Those among them in which a player wanted to.")
      .def_prop_ro("num_wrong_resigns", count([](auto& pool) { return pool.num_wrong_resigns(); }),
                   "Those among these that this player did not lose.")
      .def_prop_ro("cache_hits", count([](auto& pool) { return pool.context().cache.hits(); }),
                   kCacheHitsDoc)
      .def_prop_ro("cache_misses", count([](auto& pool) { return pool.context().cache.misses(); }),
                   kCacheMissesDoc)
      .def_prop_ro("tree_bytes", count([](auto& pool) { return pool.tree_bytes(); }), kTreeBytesDoc)
      .def_prop_rw(
          "net_version", count([](auto& pool) { return pool.context().net_version; }),
          [](Self& self, std::uint64_t version) { self.pool.context().net_version = version; },
          kNetVersionDoc)
      .def_prop_rw(
          "resign_value", [](Self& self) { return self.pool.settings().resign_value; },
          [](Self& self, double value) {
            if (!(value >= -1 && value <= 0)) throw Error("resign_value must be -1 to 0");
            self.pool.settings().resign_value = value;
          },
          "See `PoolSettings`; may be changed as false resignations are counted.");
}

}  // namespace zerogames::detail
