#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <ctime>
#include <random>

#include "engine.hpp"
#include "record.hpp"
#include "sparse_layer.hpp"
#include "zerogames/bind_game.hpp"

namespace nb = nanobind;
using namespace zerogames;
using namespace zerogames::chess;
using nnue::FeatureSet;
using nnue::Indices;
using nnue::Network;

using PairArray = nb::ndarray<const std::uint16_t, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;

static nnue::TopPairs as_pairs(const PairArray& pairs) {
  return {reinterpret_cast<const std::array<std::uint16_t, 2>*>(pairs.data()), pairs.shape(0)};
}

static void bind_features(nb::module_& m) {
  nb::class_<FeatureSet>(m, "FeatureSet")
      .def(
          "__init__",
          [](FeatureSet* self, std::string name, const PairArray& pairs) {
            new (self) FeatureSet(std::move(name), as_pairs(pairs));
          },
          nb::arg("name"), nb::arg("top_pairs"))
      .def_prop_ro("name", &FeatureSet::name)
      .def_prop_ro("size", &FeatureSet::size)
      .def_prop_ro("max_active", &FeatureSet::max_active)
      .def(
          "active",
          [](const FeatureSet& self, std::string_view fen, bool white) {
            Indices found;
            self.active(nnue::view_of(parse_fen(fen, true), !white), found);
            return found;
          },
          nb::arg("fen"), nb::arg("white"))
      .def(
          "changed",
          [](const FeatureSet& self, std::string_view before, std::string_view after,
             bool white) -> std::optional<std::pair<Indices, Indices>> {
            const Placement from = nnue::view_of(parse_fen(before, true), !white);
            const Placement to = nnue::view_of(parse_fen(after, true), !white);
            std::pair<Indices, Indices> lists;
            if (!self.changed(nnue::Transition(from, to), lists.first, lists.second)) {
              return std::nullopt;
            }
            return lists;
          },
          nb::arg("before"), nb::arg("after"), nb::arg("white"));
}

template <class T>
using Vector = nb::ndarray<const T, nb::c_contig, nb::device::cpu>;
using RecordBytes =
    nb::ndarray<const std::uint8_t, nb::shape<-1, 40>, nb::c_contig, nb::device::cpu>;

template <class T>
static std::span<const T> as_span(const Vector<T>& array) {
  return {array.data(), array.size()};
}

static nnue::Record record_at(const RecordBytes& records, std::size_t row) {
  nnue::Record record;
  std::memcpy(&record, records.data() + row * sizeof record, sizeof record);
  return record;
}

/// A one-dimensional NumPy array that owns a copy of `values`.
template <class T>
static nb::object to_numpy(std::span<const T> values) {
  auto* copy = new std::vector<T>(values.begin(), values.end());
  nb::capsule owner(copy, [](void* held) noexcept { delete static_cast<std::vector<T>*>(held); });
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(copy->data(), {copy->size()}, owner));
}

// The name of a feature set with its list of pairs, and layers as weight and bias.
using NamedFeatures = std::pair<std::string, PairArray>;
using FirstLayer = std::pair<Vector<std::int16_t>, Vector<std::int16_t>>;
using HiddenLayer = std::pair<Vector<std::int8_t>, Vector<std::int32_t>>;
using LastLayer = std::pair<Vector<std::int8_t>, std::int32_t>;

static void bind_network(nb::module_& m) {
  nb::class_<Network>(m, "Network")
      .def(
          "__init__",
          [](Network* self, const NamedFeatures& features, const FirstLayer& first,
             const HiddenLayer& second, const HiddenLayer& third, const LastLayer& last,
             std::string_view kernel) {
            const nnue::Weights weights{as_span(first.first),  as_span(first.second),
                                        as_span(second.first), as_span(second.second),
                                        as_span(third.first),  as_span(third.second),
                                        as_span(last.first),   last.second};
            new (self)
                Network(FeatureSet(features.first, as_pairs(features.second)), weights, kernel);
          },
          nb::arg("features"), nb::arg("first"), nb::arg("second"), nb::arg("third"),
          nb::arg("last"), nb::arg("kernel") = "")
      .def_prop_ro("kernel", &Network::kernel)
      .def(
          "evaluate",
          [](const Network& self, std::string_view fen) {
            nnue::AccumulatorStack accumulators(self);
            accumulators.reset(parse_fen(fen, true));
            return accumulators.evaluate();
          },
          nb::arg("fen"))
      .def(
          "evaluate_records",
          [](const Network& self, const RecordBytes& records) {
            std::vector<std::int32_t> scores(records.shape(0));
            {
              const nb::gil_scoped_release released;
              nnue::AccumulatorStack accumulators(self);
              for (std::size_t row = 0; row < scores.size(); ++row) {
                accumulators.reset(nnue::unpack(record_at(records, row)));
                scores[row] = accumulators.evaluate();
              }
            }
            return to_numpy<std::int32_t>(scores);
          },
          nb::arg("records"));

  nb::class_<nnue::AccumulatorStack>(m, "AccumulatorStack")
      .def(
          "__init__",
          [](nnue::AccumulatorStack* self, const Network& network) {
            const Board start = parse_fen(kStartFen);
            (new (self) nnue::AccumulatorStack(network))->reset(start);
          },
          nb::arg("network"), nb::keep_alive<1, 2>())
      .def(
          "reset",
          [](nnue::AccumulatorStack& self, std::string_view fen) {
            self.reset(parse_fen(fen, true));
          },
          nb::arg("fen"))
      .def(
          "push",
          [](nnue::AccumulatorStack& self, std::string_view fen) {
            self.push(parse_fen(fen, true));
          },
          nb::arg("fen"))
      .def("pop", &nnue::AccumulatorStack::pop)
      .def("evaluate", &nnue::AccumulatorStack::evaluate)
      .def(
          "accumulator",
          [](nnue::AccumulatorStack& self, bool white) {
            return to_numpy<std::int16_t>({self.accumulator(!white), self.width()});
          },
          nb::arg("white"))
      .def_prop_ro("counters", [](const nnue::AccumulatorStack& self) {
        const nnue::Counters& counters = self.counters();
        nb::dict found;
        found["evaluations"] = counters.evaluations;
        found["updates"] = counters.updates;
        found["rows_added"] = counters.rows_added;
        found["rows_removed"] = counters.rows_removed;
        found["refreshes"] = counters.refreshes;
        return found;
      });
}

/// Positions as a search meets them: all moves of a position, then one of them is played.
static std::pair<std::uint64_t, double> time_evaluations(const Network& network, int positions,
                                                         unsigned seed) {
  if (positions < 1 || positions > 10'000'000) throw Error("positions must be 1 to 10000000");
  std::mt19937 random(seed);
  struct Step {
    Board board;
    bool stay;  ///< Whether the line continues from this position.
  };
  std::vector<std::vector<Step>> games;
  for (int made = 0; made < positions;) {
    Board board = parse_fen(kStartFen);
    auto& steps = games.emplace_back();
    steps.push_back({board, true});
    for (int ply = 0; ply < 120; ++ply) {
      std::vector<Board> children;
      for_each_move(board, find_checks(board), [&](Move move) {
        children.push_back(board);
        children.back().play(move);
      });
      if (children.empty() || nnue::is_dead(board)) break;
      for (const Board& child : children) steps.push_back({child, false});
      board = children[random() % children.size()];
      steps.push_back({board, true});
      made += static_cast<int>(children.size()) + 1;
    }
  }
  nnue::AccumulatorStack accumulators(network);
  std::uint64_t evaluated = 0;
  // Processor time: on a shared machine the clock says little.
  const std::clock_t began = std::clock();
  for (const auto& steps : games) {
    accumulators.reset(steps[0].board);
    accumulators.evaluate();
    for (std::size_t i = 1; i < steps.size(); ++i) {
      accumulators.push(steps[i].board);
      accumulators.evaluate();
      if (!steps[i].stay) accumulators.pop();
    }
    evaluated += steps.size();
  }
  return {evaluated, static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC};
}

static nb::dict describe(const nnue::Engine::Found& found) {
  nb::dict info;
  info["rank"] = found.info.rank;
  info["depth"] = found.info.depth;
  info["seldepth"] = found.info.selective_depth;
  info["score"] = found.info.score;
  info["nodes"] = found.info.nodes;
  info["time_ms"] = found.info.time_ms;
  info["hashfull"] = found.info.hash_fill;
  info["line"] = found.line;
  return info;
}

static nnue::SearchLimits read_limits(const nb::kwargs& given) {
  nnue::SearchLimits limits;
  for (const auto& [key, value] : given) {
    const auto name = nb::cast<std::string>(key);
    const auto read = [&](const char* field, auto& limit) {
      return name == field && nb::try_cast(value, limit);
    };
    if (!read("soft_ms", limits.soft_ms) && !read("move_time_ms", limits.move_time_ms) &&
        !read("nodes", limits.nodes) && !read("depth", limits.depth) &&
        !read("lines", limits.lines) && !read("moves", limits.moves)) {
      throw nb::type_error(("no such limit of a search, or a wrong value: " + name).c_str());
    }
  }
  return limits;
}

static void bind_engine(nb::module_& m) {
  using nnue::Engine;
  nb::class_<Engine>(m, "Engine")
      .def(nb::init<std::shared_ptr<const Network>, std::size_t>(), nb::arg("network"),
           nb::arg("hash_mb") = 16)
      .def("set_hash", &Engine::set_hash, nb::arg("megabytes"),
           nb::call_guard<nb::gil_scoped_release>())
      .def("new_game", &Engine::new_game, nb::call_guard<nb::gil_scoped_release>())
      .def("set_position", &Engine::set_position, nb::arg("fen"), nb::arg("moves"),
           nb::arg("chess960") = false, nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("fen", &Engine::fen)
      .def_prop_ro("black_to_move", &Engine::black_to_move)
      .def("evaluate", &Engine::evaluate)
      .def("stop", &Engine::stop)
      .def("allow", &Engine::allow)
      .def(
          "go",
          [](Engine& self, const nb::object& on_info, const nb::kwargs& given) {
            const nnue::SearchLimits limits = read_limits(given);
            Engine::Found found;
            {
              const nb::gil_scoped_release released;
              found = self.go(limits, [&](const Engine::Found& so_far) {
                if (on_info.is_none()) return;
                const nb::gil_scoped_acquire acquired;
                on_info(describe(so_far));
              });
            }
            return describe(found);
          },
          nb::kw_only(), nb::arg("on_info") = nb::none(), nb::arg("limits"));
  m.def(
      "exchange_reaches",
      [](std::string_view fen, std::string_view text, int threshold) {
        const Board board = parse_fen(fen);
        return nnue::exchange_reaches(board, parse_uci(board, find_checks(board), text), threshold);
      },
      nb::arg("fen"), nb::arg("move"), nb::arg("threshold"));
  m.def("time_evaluations", &time_evaluations, nb::arg("network"), nb::arg("positions"),
        nb::arg("seed"), nb::call_guard<nb::gil_scoped_release>());
}

using FloatMatrix = nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using FloatVector = nb::ndarray<float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using IndexVector = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using OffsetVector = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// Checked once per batch, so that no list can reach outside of the weights.
static sparse::FeatureLists checked_lists(const IndexVector& indices, const OffsetVector& offsets,
                                          std::size_t samples, std::size_t features) {
  bool fits = offsets.size() == samples + 1 && offsets(0) == 0 &&
              offsets(samples) == static_cast<std::int64_t>(indices.size());
  for (std::size_t i = 0; fits && i < samples; ++i) fits = offsets(i) <= offsets(i + 1);
  for (std::size_t i = 0; fits && i < indices.size(); ++i) {
    fits = indices(i) >= 0 && static_cast<std::size_t>(indices(i)) < features;
  }
  if (!fits) throw Error("the feature lists do not fit the layer");
  return {{indices.data(), indices.size()}, {offsets.data(), offsets.size()}};
}

/// The result of feature_lists: indices and offsets of the side to move, then of the opponent.
using ListArrays = std::tuple<IndexVector, OffsetVector, IndexVector, OffsetVector>;

static sparse::Batch checked_batch(const ListArrays& arrays, std::size_t samples,
                                   const FloatMatrix& weights) {
  const auto& [own, own_offsets, other, other_offsets] = arrays;
  return {{checked_lists(own, own_offsets, samples, weights.shape(0)),
           checked_lists(other, other_offsets, samples, weights.shape(0))},
          samples,
          weights.shape(1)};
}

static void bind_training(nb::module_& m) {
  m.def(
      "feature_lists",
      [](const FeatureSet& features, const RecordBytes& records, int threads) {
        const std::size_t samples = records.shape(0);
        threads = std::clamp(threads, 1, 64);
        std::vector<std::int32_t> indices[2];
        std::vector<std::int64_t> offsets[2];
        {
          const nb::gil_scoped_release released;
          std::vector<std::vector<std::int32_t>> parts(2 * static_cast<std::size_t>(threads));
          std::vector<std::string> errors(threads);
          for (auto& list : offsets) list.assign(samples + 1, 0);
          sparse::in_threads(threads, [&](int number) {
            try {
              Indices found;
              const std::size_t last = samples * (number + 1) / threads;
              for (std::size_t row = samples * number / threads; row < last; ++row) {
                const Board board = nnue::unpack(record_at(records, row));
                for (const int half : {0, 1}) {
                  features.active(
                      half == 0 ? static_cast<const Placement&>(board) : nnue::turned(board),
                      found);
                  auto& part = parts[2 * number + half];
                  part.insert(part.end(), found.begin(), found.end());
                  offsets[half][row + 1] = static_cast<std::int64_t>(found.size());
                }
              }
            } catch (const Error& error) {
              errors[number] = error.what();
            }
          });
          for (const std::string& error : errors) {
            if (!error.empty()) throw Error(error);
          }
          for (const int half : {0, 1}) {
            for (std::size_t i = 0; i < samples; ++i) offsets[half][i + 1] += offsets[half][i];
            for (int number = 0; number < threads; ++number) {
              const auto& part = parts[2 * number + half];
              indices[half].insert(indices[half].end(), part.begin(), part.end());
            }
          }
        }
        return nb::make_tuple(
            to_numpy<std::int32_t>(indices[0]), to_numpy<std::int64_t>(offsets[0]),
            to_numpy<std::int32_t>(indices[1]), to_numpy<std::int64_t>(offsets[1]));
      },
      nb::arg("features"), nb::arg("records"), nb::arg("threads") = 1);
  m.def(
      "successors",
      [](const RecordBytes& records, std::uint64_t seed) {
        std::vector<std::uint8_t> best, other, usable(records.shape(0));
        const auto append = [](std::vector<std::uint8_t>& to, const nnue::Record& record) {
          const auto* bytes = reinterpret_cast<const std::uint8_t*>(&record);
          to.insert(to.end(), bytes, bytes + sizeof record);
        };
        for (std::size_t row = 0; row < usable.size(); ++row) {
          nnue::Record after_best{}, after_other{};
          usable[row] = nnue::successors(record_at(records, row), hash_combine(seed, row),
                                         after_best, after_other);
          if (!usable[row]) continue;
          append(best, after_best);
          append(other, after_other);
        }
        return nb::make_tuple(to_numpy<std::uint8_t>(usable), to_numpy<std::uint8_t>(best),
                              to_numpy<std::uint8_t>(other));
      },
      nb::arg("records"), nb::arg("seed"));
  m.def(
      "sparse_forward",
      [](const FloatMatrix& weights, const FloatVector& bias, const ListArrays& lists,
         FloatMatrix& out, int threads) {
        const std::size_t samples = out.shape(0), columns = weights.shape(1);
        if (columns < 1 || bias.size() != columns || out.shape(1) != 2 * columns) {
          throw Error("the shapes of the sparse layer do not fit together");
        }
        const sparse::Batch batch = checked_batch(lists, samples, weights);
        const nb::gil_scoped_release released;
        sparse::sparse_forward(batch, weights.data(), bias.data(), out.data(),
                               std::clamp(threads, 1, 64));
      },
      nb::arg("weights"), nb::arg("bias"), nb::arg("lists"), nb::arg("out"),
      nb::arg("threads") = 1);
  m.def(
      "sparse_backward",
      [](const FloatMatrix& out, const FloatMatrix& gradient, const ListArrays& lists,
         FloatMatrix& weight_gradient, FloatVector& bias_gradient, int threads) {
        const std::size_t samples = out.shape(0), columns = weight_gradient.shape(1);
        if (columns < 1 || out.shape(1) != 2 * columns || gradient.shape(1) != 2 * columns ||
            gradient.shape(0) != samples || bias_gradient.size() != columns) {
          throw Error("the shapes of the sparse layer do not fit together");
        }
        const sparse::Batch batch = checked_batch(lists, samples, weight_gradient);
        const nb::gil_scoped_release released;
        sparse::sparse_backward(batch, out.data(), gradient.data(), weight_gradient.data(),
                                bias_gradient.data(),
                                std::clamp(threads, 1, static_cast<int>(columns)));
      },
      nb::arg("out"), nb::arg("gradient"), nb::arg("lists"), nb::arg("weight_gradient"),
      nb::arg("bias_gradient"), nb::arg("threads") = 1);
}

NB_MODULE(ZEROGAMES_MODULE, m) {
  init_bindings();
  bind_features(m);
  bind_network(m);
  bind_engine(m);
  bind_training(m);
  m.def("pack_fen", [](std::string_view fen) {
    const nnue::Record record = nnue::pack(parse_fen(fen, true));
    return nb::bytes(reinterpret_cast<const char*>(&record), sizeof record);
  });
  m.def("unpack_fens", [](const RecordBytes& records) {
    std::vector<std::string> fens;
    for (std::size_t row = 0; row < records.shape(0); ++row) {
      fens.push_back(format_fen(nnue::unpack(record_at(records, row))));
    }
    return fens;
  });
}
