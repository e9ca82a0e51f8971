#pragma once

// Python's view of sample.hpp and replay.hpp, shared by the modules that make samples.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string_view.h>

#include <string>

#include "zerogames/record_samples.hpp"

namespace zerogames {

namespace nb = nanobind;

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
std::span<const T> as_span(const Vector<T>& vector) {
  return {vector.data(), vector.size()};
}

/// One bytes object for each sample: they live and die one by one in the shuffle buffer.
inline nb::list to_bytes_list(const SampleList& samples) {
  nb::list list;
  for (std::size_t index = 0; index < samples.size(); ++index) {
    list.append(nb::bytes(samples[index].data(), samples[index].size()));
  }
  return list;
}

/// Field `name` of a dataclass of columns. The vector keeps its array alive.
template <class T>
Vector<T> read_column(nb::handle columns, const char* name) {
  Vector<T> column;
  const nb::object value =
      columns.attr(name);  // It may be missing, which `try_cast` must not meet.
  if (!nb::try_cast(value, column)) {
    throw Error("the column " + std::string(name) + " is not a vector of the right type");
  }
  return column;
}

namespace detail {

/// Adds the method `replay_samples`; `game` is a zerogames.data.record_samples.RecordColumns.
template <PackedGame G>
void bind_replay(nb::class_<G>& state) {
  state.def(
      "replay_samples",
      [](const G& self, std::string_view encoding_name, nb::handle game) {
        const auto encoding = G::parse_encoding(encoding_name);
        const auto actions = read_column<Action>(game, "actions");
        const auto chosen = read_column<std::int32_t>(game, "chosen");
        const auto policy_offsets = read_column<std::int64_t>(game, "policy_offsets");
        const auto policy_actions = read_column<Action>(game, "policy_actions");
        const auto policy_targets = read_column<float>(game, "policy_targets");
        const auto search_q = read_column<float>(game, "search_q");
        const auto search_d = read_column<float>(game, "search_d");
        const auto turns_left = read_column<std::int32_t>(game, "turns_left");
        const RecordColumns replay{.actions = as_span(actions),
                                   .chosen = as_span(chosen),
                                   .policy_offsets = as_span(policy_offsets),
                                   .policy_actions = as_span(policy_actions),
                                   .policy_targets = as_span(policy_targets),
                                   .search_q = as_span(search_q),
                                   .search_d = as_span(search_d),
                                   .turns_left = as_span(turns_left),
                                   .result = nb::cast<float>(game.attr("result")),
                                   .is_whole = nb::cast<bool>(game.attr("is_whole"))};
        SampleList samples;
        {
          const nb::gil_scoped_release released;
          replay_samples(self, encoding, replay, samples);
        }
        return to_bytes_list(samples);
      },
      nb::arg("encoding"), nb::arg("game"));
}

}  // namespace detail

}  // namespace zerogames
