#pragma once

// Python's view of rollouts.hpp; zerogames/search/_search.pyi has its types.

#include "zerogames/bind_exclusive.hpp"
#include "zerogames/bind_leaves.hpp"
#include "zerogames/bind_numpy.hpp"
#include "zerogames/rollouts.hpp"

namespace zerogames::detail {

template <Game G>
struct BoundRollouts : Rollouts<G>, OneThread {
  using Rollouts<G>::Rollouts;
};

template <Game G>
void bind_rollouts(nb::handle state_class) {
  using Self = BoundRollouts<G>;
  const auto column = [](auto get) {
    return one_thread([get](const Self& self) {
      const auto children = self.children();
      std::vector<decltype(get(children[0]))> values;
      for (const auto& child : children) values.push_back(get(child));
      return to_array(values);
    });
  };
  nb::class_<Self>(
      state_class, "Rollouts",
      "One position and its tree; L is its number of legal moves. Deterministic for a seed.")
      .def(nb::init<const G&, std::uint64_t>(), nb::arg("state"), nb::kw_only(),
           nb::arg("seed") = 0)
      .def("run",
           one_thread([](Self& self, int count) { without_gil<G>([&] { self.run(count); }); }),
           nb::arg("count"),
           "Add rollouts; none where the game is over. The GIL is released for native games.")
      .def_prop_ro("actions", column([](const auto& child) { return child.action; }),
                   "`[L]`, ascending.")
      .def_prop_ro("visits", column([](const auto& child) {
                     return static_cast<std::int32_t>(child.visits);
                   }),
                   "`[L]` visits of each move.")
      .def_prop_ro("values", column([](const auto& child) { return child.value; }),
                   "`[L]` means in the view of the player to move; 0 for an unvisited move.")
      .def_prop_ro("total", one_thread([](const Self& self) { return self.total(); }),
                   "Rollouts so far.");
}

}  // namespace zerogames::detail
