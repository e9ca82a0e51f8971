#include "connect_four.hpp"
#include "othello.hpp"
#include "zerogames/bind_game.hpp"
#include "zerogames/bind_samples.hpp"
#include "zerogames/bind_search.hpp"

namespace nb = nanobind;
using zerogames::ConnectFour;
using zerogames::Othello;

NB_MODULE(ZEROGAMES_MODULE, m) {
  zerogames::init_bindings();

  zerogames::bind_state<ConnectFour>(m, "ConnectFour")
      .def(nb::init<>())
      .def_static("from_text", &ConnectFour::from_text, nb::arg("text"))
      .def("__str__", &ConnectFour::to_text);
  zerogames::bind_search<ConnectFour>(m, "ConnectFour");
  zerogames::bind_replay<ConnectFour>(m);

  zerogames::bind_state<Othello>(m, "Othello")
      .def(nb::init<int>(), nb::arg("size") = 8)
      .def_static("from_text", &Othello::from_text, nb::arg("size"), nb::arg("text"))
      .def("__str__", &Othello::to_text)
      .def_prop_ro("size", &Othello::size);
  zerogames::bind_search<Othello>(m, "Othello");
  zerogames::bind_replay<Othello>(m);
}
