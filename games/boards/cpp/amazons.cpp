#include "amazons.hpp"

#include "binding.hpp"

void zerogames::boards::bind_amazons(nb::module_& m) {
  auto state = bind_state<Amazons>(m, "Amazons");
  state.def(nb::init<int>(), nb::arg("size") = 10)
      .def_static("from_text", &Amazons::from_text, nb::arg("size"), nb::arg("text"))
      .def("__str__", &Amazons::to_text);
  bind_play(state);
}
