#include "nim.hpp"
#include "zerogames/bind_game.hpp"

NB_MODULE(_native, m) {
  zerogames::init_bindings();
  zerogames::bind_state<Nim>(m, "Nim")
      .def(nanobind::init<>())
      .def_static("from_text", &Nim::from_text, nanobind::arg("text"))
      .def("__str__", &Nim::to_text);
}
