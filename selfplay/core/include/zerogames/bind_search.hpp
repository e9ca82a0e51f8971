#pragma once

// One binding for every native game: `<Name>Search`, `<Name>Pool` and `<Name>Rollouts`, also found
// as the attributes `Search`, `Pool` and `Rollouts` of the state's class (see
// zerogames/search/ for what they promise).
//
//   auto state = zerogames::bind_state<ConnectFour>(m, "ConnectFour");
//   zerogames::bind_search<ConnectFour>(m, "ConnectFour");
//
// The GIL is released while games are played and trees are searched; a batch crosses the border
// once in each direction.

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "zerogames/bind_game.hpp"
#include "zerogames/bind_settings.hpp"
#include "zerogames/pool.hpp"
#include "zerogames/rollouts.hpp"
#include "zerogames/search.hpp"

namespace zerogames {

namespace detail {

template <class T>
constexpr int numpy_type() {
  if constexpr (std::is_same_v<T, std::int8_t>) return NPY_INT8;
  if constexpr (std::is_same_v<T, std::uint8_t>) return NPY_UINT8;
  if constexpr (std::is_same_v<T, std::int32_t>) return NPY_INT32;
  if constexpr (std::is_same_v<T, float>) return NPY_FLOAT32;
  if constexpr (std::is_same_v<T, double>) return NPY_FLOAT64;
}

/// A new NumPy vector with a copy of `values`.
template <class T>
nb::object to_array(std::span<const T> values) {
  npy_intp size = static_cast<npy_intp>(values.size());
  PyObject* array = PyArray_SimpleNew(1, &size, numpy_type<T>());
  if (!array) throw nb::python_error();
  if (size > 0) std::memcpy(PyArray_DATA(as_array(array)), values.data(), values.size_bytes());
  return nb::steal(array);
}
template <class T>
nb::object to_array(const std::vector<T>& values) {
  return to_array(std::span<const T>(values));
}

/// The net's numbers for a batch: contiguous float32 [rows] or [rows, columns].
inline const float* net_output(nb::handle given, const char* name, std::size_t rows,
                               std::size_t columns) {
  PyArrayObject* array = as_array(given.ptr());
  const bool is_vector = columns == 0;
  if (!PyArray_Check(given.ptr()) || PyArray_TYPE(array) != NPY_FLOAT32 ||
      PyArray_NDIM(array) != (is_vector ? 1 : 2) || !PyArray_IS_C_CONTIGUOUS(array) ||
      PyArray_DIM(array, 0) != static_cast<npy_intp>(rows) ||
      (!is_vector && PyArray_DIM(array, 1) != static_cast<npy_intp>(columns))) {
    throw Error(std::string(name) + " must be a contiguous float32 array of shape (" +
                std::to_string(rows) + (is_vector ? ",)" : ", " + std::to_string(columns) + ")"));
  }
  return static_cast<const float*>(PyArray_DATA(array));
}

/// Planes of a batch of leaves [capacity, P, H, W]: the caller's array or one that is used again.
class ObservationBuffer {
 public:
  explicit ObservationBuffer(const Shape& shape) : shape_(shape) {}

  float* prepare(nb::handle out, std::size_t rows) {
    if (out.is_none()) {
      if (rows > capacity_) {
        npy_intp dims[4] = {static_cast<npy_intp>(rows), shape_.planes, shape_.height,
                            shape_.width};
        own_ = nb::steal(PyArray_SimpleNew(4, dims, NPY_FLOAT32));
        if (!own_.is_valid()) throw nb::python_error();
        capacity_ = rows;
      }
      current_ = own_;
    } else {
      PyArrayObject* array = as_array(out.ptr());
      if (!PyArray_Check(out.ptr()) || PyArray_TYPE(array) != NPY_FLOAT32 ||
          PyArray_NDIM(array) != 4 || PyArray_DIM(array, 0) < static_cast<npy_intp>(rows) ||
          PyArray_DIM(array, 1) != shape_.planes || PyArray_DIM(array, 2) != shape_.height ||
          PyArray_DIM(array, 3) != shape_.width || !PyArray_ISCARRAY(array)) {
        throw Error("out must be a writable contiguous float32 array of shape (" +
                    std::to_string(rows) + " or more, " + std::to_string(shape_.planes) + ", " +
                    std::to_string(shape_.height) + ", " + std::to_string(shape_.width) + ")");
      }
      current_ = nb::borrow(out);
    }
    return static_cast<float*>(PyArray_DATA(as_array(current_.ptr())));
  }

  /// The first `rows` as a view.
  nb::object view(std::size_t rows) const {
    PyObject* slice = PySequence_GetSlice(current_.ptr(), 0, static_cast<Py_ssize_t>(rows));
    if (!slice) throw nb::python_error();
    return nb::steal(slice);
  }

 private:
  Shape shape_;
  std::size_t capacity_ = 0;
  nb::object own_, current_;
};

template <class G>
constexpr bool kHoldsGil = requires { requires G::kNeedsGil; };

/// Calls `work` without the GIL, unless the game itself is written in Python.
template <class G, class Work>
decltype(auto) without_gil(Work work) {
  if constexpr (kHoldsGil<G>) {
    return work();
  } else {
    const nb::gil_scoped_release release;
    return work();
  }
}

/// The state as Python knows it: an adapter gives the object it wraps.
template <class G>
nb::object to_python(const G& state) {
  if constexpr (kHoldsGil<G>) {
    return state.state();
  } else {
    return nb::cast(G(state));
  }
}
/// The inverse, for a game with the same number of actions.
template <class G>
G from_python(nb::handle state, int action_size) {
  if constexpr (kHoldsGil<G>) {
    return G(nb::borrow(state), action_size);
  } else {
    static_cast<void>(action_size);
    return nb::cast<G>(state);
  }
}

/// How leaves become planes.
template <Game G>
struct LeafEncoder {
  LeafEncoder(const G& state, std::string_view name, bool wanted)
      : encoding(G::parse_encoding(name)),
        shape(state.observation_shape(encoding)),
        needs_observation(wanted) {}

  auto into(float* planes) const {
    return [this, planes](const G& leaf, std::size_t row) {
      if (!needs_observation) return;
      const auto size = static_cast<std::size_t>(shape.size());
      leaf.observe(encoding, {planes + row * size, size});
    };
  }

  typename G::Encoding encoding;
  Shape shape;
  bool needs_observation;
};

/// A search with all it needs from Python.
template <Game G>
struct BoundSearch {
  BoundSearch(const G& state, const SearchSettings& settings, std::string_view encoding_name,
              std::uint64_t seed, bool needs_observation)
      : context(settings),
        search(context, state, seed),
        encoder(state, encoding_name, needs_observation),
        buffer(encoder.shape) {
    start(std::nullopt, true, true, std::nullopt);
  }

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
    if (max_batch < 1 || max_batch > 16384) throw Error("max_batch must be 1 to 16384");
    if (out.is_none() && search.num_leaves() > 0) {
      throw Error("apply the collected batch first, or give each batch an array of its own");
    }
    float* planes = buffer.prepare(out, max_batch);
    const auto rows =
        without_gil<G>([&] { return search.collect(max_batch, encoder.into(planes)); });
    return buffer.view(rows);
  }

  void apply(nb::handle policy_logits, nb::handle wdl, nb::handle moves_left) {
    const std::size_t rows = search.num_leaves();
    const std::size_t actions = search.root_state().action_size();
    const float* logits = net_output(policy_logits, "policy_logits", rows, actions);
    const float* outcome = net_output(wdl, "wdl", rows, 3);
    const float* length =
        moves_left.is_none() ? nullptr : net_output(moves_left, "moves_left", rows, 0);
    const auto evaluation = [&](std::size_t row) {
      const float* p = outcome + 3 * row;
      return Evaluation{p[0] - p[2], p[1], length ? length[row] : 0.0F};
    };
    without_gil<G>([&] {
      for (std::size_t row = 0; row < rows; ++row) {
        if (!search.finite(row, logits + row * actions, evaluation(row))) {
          throw Error("the net gave a number that is not finite in row " + std::to_string(row));
        }
      }
      for (std::size_t row = 0; row < rows; ++row) {
        search.apply(row, logits + row * actions, evaluation(row));
      }
      search.finish_batch();
    });
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
  LeafEncoder<G> encoder;
  ObservationBuffer buffer;
};

template <Game G>
struct BoundPool {
  BoundPool(const G& initial, const SearchSettings& search, const PoolSettings& settings,
            std::string_view encoding_name, std::vector<G> starts, bool needs_observation,
            const typename GamePool<G>::Options& options)
      : pool(initial, std::move(starts), search, settings, options),
        encoder(initial, encoding_name, needs_observation),
        buffer(encoder.shape),
        action_size(initial.action_size()) {}

  nb::object collect(nb::handle out) {
    float* planes = buffer.prepare(out, pool.capacity());
    const auto rows = without_gil<G>([&] { return pool.collect(encoder.into(planes)); });
    return buffer.view(rows);
  }

  void apply(nb::handle policy_logits, nb::handle wdl, nb::handle moves_left) {
    const std::size_t rows = pool.num_rows();
    const float* logits = net_output(policy_logits, "policy_logits", rows, action_size);
    const float* outcome = net_output(wdl, "wdl", rows, 3);
    const float* length =
        moves_left.is_none() ? nullptr : net_output(moves_left, "moves_left", rows, 0);
    without_gil<G>([&] { pool.apply(logits, outcome, length); });
  }

  /// One dictionary of numbers and columns for each game; zerogames/search/finished.py names them.
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
  LeafEncoder<G> encoder;
  ObservationBuffer buffer;
  std::size_t action_size;
};

/// The whole tree as columns, parents before children.
inline nb::dict tree_columns(const Tree& tree) {
  std::vector<std::int32_t> parent, action, visits, num_legal;
  std::vector<double> value;
  std::vector<float> prior, net_value;
  std::vector<std::int8_t> low, high;
  std::vector<std::pair<NodeId, std::int32_t>> open = {{tree.root(), -1}};
  for (std::size_t i = 0; i < open.size(); ++i) {
    const Node& node = tree[open[i].first];
    parent.push_back(open[i].second);
    action.push_back(i == 0 ? -1 : node.action);
    visits.push_back(static_cast<std::int32_t>(node.visits));
    num_legal.push_back(node.num_edges);
    value.push_back(node.value);
    prior.push_back(node.prior);
    net_value.push_back(node.net_value);
    low.push_back(node.low);
    high.push_back(node.high);
    for (const NodeId child : tree.children(node)) {
      open.emplace_back(child, static_cast<std::int32_t>(i));
    }
  }
  nb::dict columns;
  columns["parent"] = to_array(parent);
  columns["action"] = to_array(action);
  columns["visits"] = to_array(visits);
  columns["num_legal"] = to_array(num_legal);
  columns["value"] = to_array(value);
  columns["prior"] = to_array(prior);
  columns["net_value"] = to_array(net_value);
  columns["low"] = to_array(low);
  columns["high"] = to_array(high);
  return columns;
}

template <Game G>
nb::object bind_one_search(nb::module_& m, const std::string& name) {
  using Self = BoundSearch<G>;
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  return nb::class_<Self>(m, name.c_str())
      .def(
          "__init__",
          [](Self* self, const G& state, nb::handle settings, std::string_view encoding,
             std::uint64_t seed, bool needs_observation) {
            new (self)
                Self(state, read_search_settings(settings), encoding, seed, needs_observation);
          },
          nb::arg("state"), nb::arg("settings"), nb::kw_only(), nb::arg("encoding"),
          nb::arg("seed") = 0, nb::arg("needs_observation") = true)
      .def(
          "set_position",
          [](Self& self, nb::handle state) {
            if (self.search.num_leaves() > 0) throw Error("apply the collected batch first");
            self.search.set_position(from_python<G>(state, self.search.root_state().action_size()));
            self.start(std::nullopt, true, true, std::nullopt);
          },
          nb::arg("state"))
      .def(
          "advance",
          [](Self& self, Action action) {
            without_gil<G>([&] { self.search.advance(action); });
            self.start(std::nullopt, true, true, std::nullopt);
          },
          nb::arg("action"))
      .def("start", &Self::start, nb::arg("simulations") = nb::none(), nb::kw_only(),
           nb::arg("explore") = true, nb::arg("may_stop_early") = true,
           nb::arg("allowed") = nb::none())
      .def("collect", &Self::collect, nb::arg("max_batch"), nb::arg("out") = nb::none())
      .def("apply", &Self::apply, nb::arg("policy_logits"), nb::arg("wdl"),
           nb::arg("moves_left") = nb::none())
      .def(
          "run_constant",
          [](Self& self, std::tuple<float, float, float> wdl) {
            const auto [win, draw, loss] = wdl;
            without_gil<G>([&] { self.search.run_constant({win - loss, draw, 0}); });
          },
          nb::arg("wdl") = std::tuple(0.0F, 1.0F, 0.0F))
      .def(
          "choose",
          [](Self& self, std::optional<double> temperature) {
            const int ply = self.search.root_state().plies();
            return self.search.view().choose(
                temperature.value_or(temperature_at(self.context.settings, ply)),
                self.search.random());
          },
          nb::arg("temperature") = nb::none())
      .def(
          "principal_variation",
          [](const Self& self, std::size_t length, std::optional<Action> first) {
            return to_int32_array(self.search.view().principal_variation(length, first));
          },
          nb::arg("length") = 256, nb::arg("first") = nb::none())
      .def(
          "fix_gumbels",
          [](Self& self, std::vector<double> noise) { self.search.fix_gumbels(std::move(noise)); },
          nb::arg("noise"))
      .def("tree", [](const Self& self) { return tree_columns(self.search.tree()); })
      .def_prop_ro("state", [](const Self& self) { return to_python(self.search.root_state()); })
      .def_prop_ro("done", [](const Self& self) { return self.search.done(); })
      .def_prop_ro("tree_size", [](const Self& self) { return self.search.tree().size(); })
      .def_prop_ro("tree_bytes", [](const Self& self) { return self.search.tree().bytes(); })
      .def_prop_ro("simulations",
                   [](const Self& self) {
                     const Node& root = self.search.root();
                     return root.visits > 0 ? root.visits - 1 : 0;
                   })
      .def_prop_ro("value", [](const Self& self) { return self.search.root().value; })
      .def_prop_ro("draw", [](const Self& self) { return self.search.root().draw; })
      .def_prop_ro("moves_left", [](const Self& self) { return self.search.root().moves_left; })
      .def_prop_ro("net_value", [](const Self& self) { return self.search.root().net_value; })
      .def_prop_ro("net_draw", [](const Self& self) { return self.search.root().net_draw; })
      .def_prop_ro("net_moves_left",
                   [](const Self& self) { return self.search.root().net_moves_left; })
      .def_prop_ro("proven",
                   [](const Self& self) -> std::optional<int> {
                     const Node& root = self.search.root();
                     if (!root.proven()) return std::nullopt;
                     return root.low;
                   })
      .def_prop_ro("actions",
                   [](const Self& self) {
                     return self.template column<std::int32_t>(
                         [](const RootChild& child) { return child.action; });
                   })
      .def_prop_ro("visits",
                   [](const Self& self) {
                     return self.template column<std::int32_t>(
                         [](const RootChild& child) { return child.visits; });
                   })
      .def_prop_ro(
          "priors",
          [](const Self& self) {
            return self.template column<float>([](const RootChild& child) { return child.prior; });
          })
      .def_prop_ro("raw_priors",
                   [](const Self& self) { return to_array(self.search.view().raw_priors()); })
      .def_prop_ro("values",
                   [](const Self& self) {
                     return self.template column<double>([](const RootChild& child) {
                       return child.visits > 0 ? child.value : kNaN;
                     });
                   })
      .def_prop_ro("draws",
                   [](const Self& self) {
                     return self.template column<double>([](const RootChild& child) {
                       return child.visits > 0 ? child.draw : kNaN;
                     });
                   })
      .def_prop_ro("moves_left_of_actions",
                   [](const Self& self) {
                     return self.template column<double>([](const RootChild& child) {
                       return child.visits > 0 ? child.moves_left + 1 : kNaN;
                     });
                   })
      .def_prop_ro("lower_bounds",
                   [](const Self& self) {
                     return self.template column<std::int8_t>(
                         [](const RootChild& child) { return child.low; });
                   })
      .def_prop_ro("upper_bounds",
                   [](const Self& self) {
                     return self.template column<std::int8_t>(
                         [](const RootChild& child) { return child.high; });
                   })
      .def_prop_ro("policy_target",
                   [](const Self& self) { return to_array(self.search.view().policy_target()); })
      .def_prop_ro("mean_depth", [](const Self& self) { return self.search.mean_depth(); })
      .def_prop_ro("max_depth", [](const Self& self) { return self.search.max_depth(); })
      .def_prop_ro("cache_fill", [](const Self& self) { return self.context.cache.fill(); })
      .def_prop_ro("cache_hits", [](const Self& self) { return self.context.cache.hits(); })
      .def_prop_ro("cache_misses", [](const Self& self) { return self.context.cache.misses(); })
      .def_prop_rw(
          "net_version", [](const Self& self) { return self.context.net_version; },
          [](Self& self, std::uint64_t version) { self.context.net_version = version; });
}

template <Game G>
nb::object bind_one_pool(nb::module_& m, const std::string& name) {
  using Self = BoundPool<G>;
  const auto count = [](auto get) {
    return [get](Self& self) { return static_cast<std::uint64_t>(get(self.pool)); };
  };
  return nb::class_<Self>(m, name.c_str())
      .def(
          "__init__",
          [](Self* self, const G& initial, nb::handle search, nb::handle settings,
             std::string_view encoding, std::uint64_t seed, std::vector<G> starts,
             std::optional<std::uint64_t> num_games, std::uint64_t first_game,
             std::uint64_t game_step, bool needs_observation) {
            new (self) Self(initial, read_search_settings(search), read_pool_settings(settings),
                            encoding, std::move(starts), needs_observation,
                            {.seed = seed,
                             .first_game = first_game,
                             .game_step = game_step,
                             .num_games = num_games});
          },
          nb::arg("initial"), nb::arg("search"), nb::arg("settings"), nb::kw_only(),
          nb::arg("encoding"), nb::arg("seed") = 0, nb::arg("starts") = std::vector<G>(),
          nb::arg("num_games") = nb::none(), nb::arg("first_game") = 0, nb::arg("game_step") = 1,
          nb::arg("needs_observation") = true)
      .def("collect", &Self::collect, nb::arg("out") = nb::none())
      .def("apply", &Self::apply, nb::arg("policy_logits"), nb::arg("wdl"),
           nb::arg("moves_left") = nb::none())
      .def("take_finished", &Self::take_finished)
      .def_prop_ro("done", [](const Self& self) { return self.pool.done(); })
      .def_prop_ro("capacity", [](const Self& self) { return self.pool.capacity(); })
      .def_prop_ro("num_simulations", count([](auto& pool) { return pool.num_simulations(); }))
      .def_prop_ro("num_evaluations", count([](auto& pool) { return pool.num_evaluations(); }))
      .def_prop_ro("num_moves", count([](auto& pool) { return pool.num_moves(); }))
      .def_prop_ro("num_games", count([](auto& pool) { return pool.num_games(); }))
      .def_prop_ro("num_never_resign", count([](auto& pool) { return pool.num_never_resign(); }))
      .def_prop_ro("num_would_resign", count([](auto& pool) { return pool.num_would_resign(); }))
      .def_prop_ro("num_wrong_resigns", count([](auto& pool) { return pool.num_wrong_resigns(); }))
      .def_prop_ro("cache_hits", count([](auto& pool) { return pool.context().cache.hits(); }))
      .def_prop_ro("cache_misses", count([](auto& pool) { return pool.context().cache.misses(); }))
      .def_prop_ro("tree_bytes", count([](auto& pool) { return pool.tree_bytes(); }))
      .def_prop_rw(
          "net_version", count([](auto& pool) { return pool.context().net_version; }),
          [](Self& self, std::uint64_t version) { self.pool.context().net_version = version; })
      .def_prop_rw(
          "resign_value", [](Self& self) { return self.pool.settings().resign_value; },
          [](Self& self, double value) {
            if (!(value >= -1 && value <= 0)) throw Error("resign_value must be -1 to 0");
            self.pool.settings().resign_value = value;
          });
}

template <Game G>
nb::object bind_one_rollouts(nb::module_& m, const std::string& name) {
  using Self = Rollouts<G>;
  const auto column = [](auto get) {
    return [get](const Self& self) {
      const auto children = self.children();
      std::vector<decltype(get(children[0]))> values;
      for (const auto& child : children) values.push_back(get(child));
      return to_array(values);
    };
  };
  return nb::class_<Self>(m, name.c_str())
      .def(nb::init<const G&, std::uint64_t>(), nb::arg("state"), nb::kw_only(),
           nb::arg("seed") = 0)
      .def(
          "run", [](Self& self, int count) { without_gil<G>([&] { self.run(count); }); },
          nb::arg("count"))
      .def_prop_ro("actions", column([](const auto& child) { return child.action; }))
      .def_prop_ro("visits", column([](const auto& child) {
                     return static_cast<std::int32_t>(child.visits);
                   }))
      .def_prop_ro("values", column([](const auto& child) { return child.value; }))
      .def_prop_ro("total", &Self::total);
}

}  // namespace detail

/// Binds `<name>Search`, `<name>Pool` and `<name>Rollouts`; call after `bind_state<G>(m, name)`.
template <Game G>
void bind_search(nb::module_& m, const char* name) {
  nb::object state = m.attr(name);
  state.attr("Search") = detail::bind_one_search<G>(m, std::string(name) + "Search");
  state.attr("Pool") = detail::bind_one_pool<G>(m, std::string(name) + "Pool");
  state.attr("Rollouts") = detail::bind_one_rollouts<G>(m, std::string(name) + "Rollouts");
}

}  // namespace zerogames
