#pragma once

// One binding for every native game: the same Python class `State` (see zerogames/game.py); what is
// played and searched with it comes from bind_play.hpp.
//
//   NB_MODULE(ZEROGAMES_MODULE, m) {
//     zerogames::init_bindings();
//     auto state = zerogames::bind_state<ConnectFour>(m, "ConnectFour");
//     state.def(nb::init<>());
//     zerogames::bind_play(state);
//   }

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <cstring>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "zerogames/bind_numpy.hpp"
#include "zerogames/error.hpp"
#include "zerogames/game.hpp"

namespace zerogames {

namespace nb = nanobind;

// In a module of several translation units one loads NumPy's interface for all; the others define
// NO_IMPORT_ARRAY, as NumPy's documentation has it.
#ifndef NO_IMPORT_ARRAY
/// Call first in every module: loads NumPy's C interface and maps Error to zerogames.UserError, a
/// value of the wrong type to TypeError.
inline void init_bindings() {
  if (_import_array() < 0) throw nb::python_error();
  nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    try {
      std::rethrow_exception(pointer);
    } catch (const Error& error) {
      // What the user wrote may be quoted byte by byte, so the text need not be valid UTF-8.
      PyObject* text = PyUnicode_DecodeUTF8(
          error.what(), static_cast<Py_ssize_t>(std::strlen(error.what())), "backslashreplace");
      PyErr_SetObject(nb::module_::import_("zerogames.errors").attr("UserError").ptr(),
                      nb::steal(text).ptr());
    } catch (const std::bad_cast&) {
      PyErr_SetString(PyExc_TypeError, "a value is not of the type that is needed here");
    } catch (const std::bad_alloc&) {
      PyErr_SetString(PyExc_MemoryError, "there is not enough memory for it");
    } catch (const std::length_error&) {
      PyErr_SetString(PyExc_MemoryError, "there is not enough memory for it");
    }
  });
}
#endif

namespace detail {

/// A new Python object of `type` that starts as a copy of `value` and is then changed in place: one
/// copy instead of the two that returning by value costs, and no look-up of the type.
template <class T, class Change>
nb::object new_instance(nb::handle type, const T& value, Change change) {
  nb::object instance = nb::inst_alloc(type);
  T* content = new (nb::inst_ptr<T>(instance)) T(value);
  nb::inst_mark_ready(instance);
  change(*content);
  return instance;
}

}  // namespace detail

/// Binds the members that every state has; returns the class so that a plugin can add its own.
template <Game G>
nb::class_<G> bind_state(nb::module_& m, const char* name) {
  nb::class_<G> state(m, name);
  const nb::handle type = state;
  state.def_prop_ro("action_size", &G::action_size)
      .def_prop_ro("to_play", &G::to_play)
      .def_prop_ro("plies", &G::plies)
      .def_prop_ro("result", &G::result)
      .def_prop_ro("end_reason", [](const G& self) { return std::string(self.end_reason()); })
      .def_prop_ro("position_key", &G::position_key)
      .def_prop_ro("observation_key", &G::observation_key)
      .def("legal_actions",
           [](const G& self) {
             static thread_local std::vector<Action> actions;
             self.legal_actions(actions);
             return detail::to_array(actions);
           })
      .def(
          "is_legal",
          [](const G& self, Action action) {
            return action >= 0 && action < self.action_size() && self.is_legal(action);
          },
          nb::arg("action"))
      .def(
          "play",
          [type](const G& self, Action action) {
            if (action < 0 || action >= self.action_size() || !self.is_legal(action)) {
              throw Error("action " + std::to_string(action) + " is not legal here");
            }
            return detail::new_instance<G>(type, self, [&](G& next) { next.play(action); });
          },
          nb::arg("action"))
      .def(
          "observe",
          [](const G& self, std::string_view encoding, nb::handle out) {
            const auto parsed = G::parse_encoding(encoding);
            const Shape shape = self.observation_shape(parsed);
            if (!out.is_none()) detail::require_planes(out, shape);
            nb::object planes = out.is_none() ? detail::new_planes(shape) : nb::borrow(out);
            self.observe(parsed,
                         {detail::float_data(planes), static_cast<std::size_t>(shape.size())});
            return planes;
          },
          nb::arg("encoding"), nb::arg("out") = nb::none())
      .def("__copy__", [](const G& self) { return G(self); })
      .def("__deepcopy__", [](const G& self, nb::handle) { return G(self); }, nb::arg("memo"));
  if constexpr (PackedGame<G>) {
    state.def(
        "pack",
        [](const G& self, std::string_view encoding) {
          static thread_local PackedPlanes packed;
          self.pack(G::parse_encoding(encoding), packed);
          const std::size_t bit_bytes = packed.bits.size() * sizeof(std::uint64_t);
          const std::size_t constant_bytes = packed.constants.size() * sizeof(float);
          PyObject* bytes = PyBytes_FromStringAndSize(
              nullptr, static_cast<Py_ssize_t>(bit_bytes + constant_bytes));
          if (!bytes) throw nb::python_error();
          char* data = PyBytes_AS_STRING(bytes);
          std::memcpy(data, packed.bits.data(), bit_bytes);
          if (constant_bytes > 0) {
            std::memcpy(data + bit_bytes, packed.constants.data(), constant_bytes);
          }
          return nb::steal(bytes);
        },
        nb::arg("encoding"));
  }
  return state;
}

}  // namespace zerogames
