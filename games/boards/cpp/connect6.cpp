#include "connect6.hpp"

#include "binding.hpp"

void zerogames::boards::bind_connect6(nb::module_& m) {
  auto state = bind_state<Connect6>(m, "Connect6");
  state.def(nb::init<int>(), nb::arg("size") = 19)
      .def_static("from_text", &Connect6::from_text, nb::arg("size"), nb::arg("text"))
      .def("__str__", &Connect6::to_text);
  bind_play(state);
}
