#pragma once

// Reads the frozen dataclasses of zerogames/search/settings.py into their native twins.

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <span>
#include <string>
#include <string_view>

#include "zerogames/error.hpp"
#include "zerogames/search_settings.hpp"

namespace zerogames::detail {

namespace nb = nanobind;

/// The Python names of an enum's values, in their order.
template <class E>
inline constexpr std::string_view kNames[1] = {};
template <>
inline constexpr std::string_view kNames<Algorithm>[] = {"puct", "gumbel"};
template <>
inline constexpr std::string_view kNames<PuctVisits>[] = {"alphazero", "lc0", "katago"};
template <>
inline constexpr std::string_view kNames<Fpu>[] = {"absolute", "reduction"};
template <>
inline constexpr std::string_view kNames<Noise>[] = {"none", "dirichlet", "shaped"};
template <>
inline constexpr std::string_view kNames<TemperatureSchedule>[] = {"step", "linear", "half-life"};

template <class T>
void read_setting(nb::handle settings, const char* name, T& value) {
  const nb::object given = settings.attr(name);
  if constexpr (std::is_enum_v<T>) {
    const std::span<const std::string_view> names = kNames<T>;
    std::string known;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (nb::isinstance<nb::str>(given) && nb::cast<std::string>(given) == names[i]) {
        value = static_cast<T>(i);
        return;
      }
      known += (i ? ", " : "") + std::string(names[i]);
    }
    throw Error("search setting " + std::string(name) + " must be one of: " + known);
  } else {
    if (!nb::try_cast<T>(given, value)) {
      throw Error("setting " + std::string(name) + " has the wrong type or is out of range");
    }
  }
}

template <class T>
nb::object write_setting(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return nb::cast(std::string(kNames<T>[static_cast<std::size_t>(value)]));
  } else {
    return nb::cast(value);
  }
}

#define ZEROGAMES_READ(type, name, value) read_setting(source, #name, settings.name);
#define ZEROGAMES_WRITE(type, name, value) fields[#name] = write_setting(settings.name);

inline SearchSettings read_search_settings(nb::handle source) {
  SearchSettings settings;
  ZEROGAMES_SEARCH_SETTINGS(ZEROGAMES_READ)
  settings.validate();
  return settings;
}
inline PoolSettings read_pool_settings(nb::handle source) {
  PoolSettings settings;
  ZEROGAMES_POOL_SETTINGS(ZEROGAMES_READ)
  settings.validate();
  return settings;
}
/// The native defaults, for the test that compares them with the dataclasses.
inline nb::dict write_search_settings(const SearchSettings& settings) {
  nb::dict fields;
  ZEROGAMES_SEARCH_SETTINGS(ZEROGAMES_WRITE)
  return fields;
}
inline nb::dict write_pool_settings(const PoolSettings& settings) {
  nb::dict fields;
  ZEROGAMES_POOL_SETTINGS(ZEROGAMES_WRITE)
  return fields;
}

#undef ZEROGAMES_READ
#undef ZEROGAMES_WRITE

}  // namespace zerogames::detail
