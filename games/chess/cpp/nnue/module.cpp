#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "../fen.hpp"
#include "accumulator.hpp"
#include "record.hpp"
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

static void bind_network(nb::module_& m) {
  nb::class_<Network>(m, "Network")
      .def(
          "__init__",
          [](Network* self, std::string name, const PairArray& pairs,
             const Vector<std::int16_t>& w1, const Vector<std::int16_t>& b1,
             const Vector<std::int8_t>& w2, const Vector<std::int32_t>& b2,
             const Vector<std::int8_t>& w3, const Vector<std::int32_t>& b3,
             const Vector<std::int8_t>& w4, std::int32_t b4, std::string_view kernel) {
            const nnue::Weights weights{as_span(w1), as_span(b1), as_span(w2), as_span(b2),
                                        as_span(w3), as_span(b3), as_span(w4), b4};
            new (self) Network(FeatureSet(std::move(name), as_pairs(pairs)), weights, kernel);
          },
          nb::arg("features"), nb::arg("top_pairs"), nb::arg("w1"), nb::arg("b1"), nb::arg("w2"),
          nb::arg("b2"), nb::arg("w3"), nb::arg("b3"), nb::arg("w4"), nb::arg("b4"),
          nb::arg("kernel") = "")
      .def_prop_ro("kernel", &Network::kernel)
      .def(
          "evaluate",
          [](const Network& self, std::string_view fen) {
            nnue::Evaluator evaluator(self);
            evaluator.reset(parse_fen(fen, true));
            return evaluator.evaluate();
          },
          nb::arg("fen"))
      .def(
          "evaluate_records",
          [](const Network& self, const RecordBytes& records) {
            std::vector<std::int32_t> scores(records.shape(0));
            {
              const nb::gil_scoped_release released;
              nnue::Evaluator evaluator(self);
              for (std::size_t row = 0; row < scores.size(); ++row) {
                evaluator.reset(nnue::unpack(record_at(records, row)));
                scores[row] = evaluator.evaluate();
              }
            }
            return to_numpy<std::int32_t>(scores);
          },
          nb::arg("records"));

  nb::class_<nnue::Evaluator>(m, "Evaluator")
      .def(nb::init<const Network&>(), nb::arg("network"), nb::keep_alive<1, 2>())
      .def(
          "reset",
          [](nnue::Evaluator& self, std::string_view fen) { self.reset(parse_fen(fen, true)); },
          nb::arg("fen"))
      .def(
          "push",
          [](nnue::Evaluator& self, std::string_view fen) { self.push(parse_fen(fen, true)); },
          nb::arg("fen"))
      .def("pop", &nnue::Evaluator::pop)
      .def("evaluate", &nnue::Evaluator::evaluate)
      .def(
          "accumulator",
          [](nnue::Evaluator& self, bool white) {
            return to_numpy<std::int16_t>({self.accumulator(!white), self.width()});
          },
          nb::arg("white"))
      .def_prop_ro("counters", [](const nnue::Evaluator& self) {
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

NB_MODULE(ZEROGAMES_MODULE, m) {
  init_bindings();
  bind_features(m);
  bind_network(m);
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
