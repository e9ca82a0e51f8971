#include "breakthrough.hpp"

#include "binding.hpp"

void zerogames::boards::bind_breakthrough(nb::module_& m) {
  auto state = bind_state<Breakthrough>(m, "Breakthrough");
  state.def(nb::init<int, int>(), nb::arg("rows") = 8, nb::arg("columns") = 8)
      .def_static("from_text", &Breakthrough::from_text, nb::arg("rows"), nb::arg("columns"),
                  nb::arg("text"))
      .def("__str__", &Breakthrough::to_text);
  bind_play(state);
}
