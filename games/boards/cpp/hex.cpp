#include "hex.hpp"

#include "binding.hpp"

void zerogames::boards::bind_hex(nb::module_& m) {
  auto state = bind_state<Hex>(m, "Hex");
  state.def(nb::init<int, bool>(), nb::arg("size") = 11, nb::arg("swap") = true)
      .def_static("from_text", &Hex::from_text, nb::arg("size"), nb::arg("swap"), nb::arg("text"))
      .def("__str__", &Hex::to_text);
  bind_play(state);
}
