#include "nim.hpp"
#include "zerogames/bind_play.hpp"

NB_MODULE(_native, m) {
  zerogames::init_bindings();
  auto state = zerogames::bind_state<Nim>(m, "Nim");
  state.def(nanobind::init<>())
      .def_static("from_text", &Nim::from_text, nanobind::arg("text"))
      .def("__str__", &Nim::to_text);
  zerogames::bind_play(state);
}
