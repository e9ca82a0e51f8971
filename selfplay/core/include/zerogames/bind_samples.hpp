#pragma once

// Python's view of sample.hpp and replay.hpp, shared by the modules that make samples.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string_view.h>

#include "zerogames/replay.hpp"

namespace zerogames {

template <class T>
using Vector =
    nanobind::ndarray<const T, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;

template <class T>
std::span<const T> as_span(const Vector<T>& vector) {
  return {vector.data(), vector.size()};
}

/// One bytes object for each sample: they live and die one by one in the shuffle buffer.
inline nanobind::list to_bytes_list(const SampleList& samples) {
  nanobind::list list;
  for (std::size_t index = 0; index < samples.size(); ++index) {
    list.append(nanobind::bytes(samples[index].data(), samples[index].size()));
  }
  return list;
}

/// Adds `replay_samples(state, encoding, ...)`; `G` may be bound by another module.
template <PackedGame G>
void bind_replay(nanobind::module_& m) {
  namespace nb = nanobind;
  m.def(
      "replay_samples",
      [](const G& state, std::string_view encoding_name, Vector<Action> actions,
         Vector<std::int32_t> chosen, Vector<std::int64_t> policy_offsets,
         Vector<Action> policy_actions, Vector<float> policy_targets, Vector<float> search_q,
         Vector<float> search_d, float result, bool is_whole) {
        const auto encoding = G::parse_encoding(encoding_name);
        const Replay game{as_span(actions),
                          as_span(chosen),
                          as_span(policy_offsets),
                          as_span(policy_actions),
                          as_span(policy_targets),
                          as_span(search_q),
                          as_span(search_d),
                          result,
                          is_whole};
        SampleList samples;
        {
          const nb::gil_scoped_release released;
          replay_samples(state, encoding, game, samples);
        }
        return to_bytes_list(samples);
      },
      nb::arg("state"), nb::arg("encoding"), nb::arg("actions"), nb::arg("chosen"),
      nb::arg("policy_offsets"), nb::arg("policy_actions"), nb::arg("policy_targets"),
      nb::arg("search_q"), nb::arg("search_d"), nb::arg("result"), nb::arg("is_whole"));
}

}  // namespace zerogames
