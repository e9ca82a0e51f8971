#include "ataxx.hpp"

#include "binding.hpp"

void zerogames::boards::bind_ataxx(nb::module_& m) {
  auto state = bind_state<Ataxx>(m, "Ataxx");
  state.def(nb::init<int, std::uint64_t>(), nb::arg("size") = 7, nb::arg("blocked") = 0)
      .def_static("from_text", &Ataxx::from_text, nb::arg("size"), nb::arg("text"))
      .def("__str__", &Ataxx::to_text);
  bind_play(state);
}
