#pragma once

// NumPy arrays at the border between C++ and Python. NumPy's C interface is several times faster
// here than nb::ndarray, and some of these calls are made once per move.

#include <nanobind/nanobind.h>
#include <numpy/arrayobject.h>

#include <cstdint>
#include <cstring>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>

#include "zerogames/error.hpp"
#include "zerogames/planes.hpp"

namespace zerogames::detail {

namespace nb = nanobind;

template <class T>
constexpr int numpy_type() {
  if constexpr (std::is_same_v<T, std::int8_t>) return NPY_INT8;
  if constexpr (std::is_same_v<T, std::uint8_t>) return NPY_UINT8;
  if constexpr (std::is_same_v<T, std::int32_t>) return NPY_INT32;
  if constexpr (std::is_same_v<T, std::int64_t>) return NPY_INT64;
  if constexpr (std::is_same_v<T, float>) return NPY_FLOAT32;
  if constexpr (std::is_same_v<T, double>) return NPY_FLOAT64;
}

inline PyArrayObject* as_array(nb::handle object) {
  return reinterpret_cast<PyArrayObject*>(object.ptr());
}

/// A new NumPy vector with a copy of `values`.
template <std::ranges::contiguous_range Values>
nb::object to_array(const Values& values) {
  using T = std::ranges::range_value_t<Values>;
  const std::span<const T> span(values);
  npy_intp size = static_cast<npy_intp>(span.size());
  PyObject* array = PyArray_SimpleNew(1, &size, numpy_type<T>());
  if (!array) throw nb::python_error();
  if (size > 0) std::memcpy(PyArray_DATA(as_array(array)), span.data(), span.size_bytes());
  return nb::steal(array);
}

/// A new float32 array of `rows` observations [rows, P, H, W]; of one [P, H, W] if `rows` is 0.
inline nb::object new_planes(const Shape& shape, std::size_t rows = 0) {
  npy_intp dims[4] = {static_cast<npy_intp>(rows), shape.planes, shape.height, shape.width};
  const int skipped = rows == 0;
  nb::object array = nb::steal(PyArray_SimpleNew(4 - skipped, dims + skipped, NPY_FLOAT32));
  if (!array.is_valid()) throw nb::python_error();
  return array;
}

/// Throws Error unless `out` is a writable contiguous float32 array of the shape that `new_planes`
/// gives; it may have more rows.
inline void require_planes(nb::handle out, const Shape& shape, std::size_t rows = 0) {
  PyArrayObject* array = as_array(out);
  const int first = rows > 0;
  if (PyArray_Check(out.ptr()) && PyArray_TYPE(array) == NPY_FLOAT32 &&
      PyArray_NDIM(array) == 3 + first && PyArray_ISCARRAY(array) &&
      (rows == 0 || PyArray_DIM(array, 0) >= static_cast<npy_intp>(rows)) &&
      PyArray_DIM(array, first) == shape.planes && PyArray_DIM(array, first + 1) == shape.height &&
      PyArray_DIM(array, first + 2) == shape.width) {
    return;
  }
  throw Error("out must be a writable contiguous float32 array of shape (" +
              (rows > 0 ? std::to_string(rows) + " or more, " : std::string()) +
              std::to_string(shape.planes) + ", " + std::to_string(shape.height) + ", " +
              std::to_string(shape.width) + ")");
}

inline float* float_data(nb::handle array) {
  return static_cast<float*>(PyArray_DATA(as_array(array)));
}

/// The numbers of an array that must be contiguous, aligned float32 in native byte order, [rows,
/// columns], or [rows] if `columns` is 0.
inline const float* require_floats(nb::handle given, const char* name, std::size_t rows,
                                   std::size_t columns = 0) {
  PyArrayObject* array = as_array(given);
  const bool is_vector = columns == 0;
  if (!PyArray_Check(given.ptr()) || PyArray_TYPE(array) != NPY_FLOAT32 ||
      PyArray_NDIM(array) != (is_vector ? 1 : 2) || !PyArray_ISCARRAY_RO(array) ||
      PyArray_DIM(array, 0) != static_cast<npy_intp>(rows) ||
      (!is_vector && PyArray_DIM(array, 1) != static_cast<npy_intp>(columns))) {
    throw Error(std::string(name) + " must be a contiguous float32 array of shape (" +
                std::to_string(rows) + (is_vector ? ",)" : ", " + std::to_string(columns) + ")"));
  }
  return float_data(given);
}

}  // namespace zerogames::detail
