#include "gomoku.hpp"

#include "binding.hpp"

void zerogames::boards::bind_gomoku(nb::module_& m) {
  auto state = bind_state<Gomoku>(m, "Gomoku");
  state.def(nb::init<int, std::string_view>(), nb::arg("size") = 15, nb::arg("rule") = "freestyle")
      .def_static("from_text", &Gomoku::from_text, nb::arg("size"), nb::arg("rule"),
                  nb::arg("text"))
      .def("__str__", &Gomoku::to_text);
  bind_play(state);
}
