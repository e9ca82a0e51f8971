#pragma once

// A game written in Python, for the native search: every rule is a call into Python.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "zerogames/error.hpp"
#include "zerogames/game.hpp"

namespace zerogames {

/// Wraps a `zerogames.game.State`, which is an immutable value: a copy shares it, a move replaces
/// it. Must only be used while the GIL is held.
class PythonGame {
 public:
  static constexpr bool kNeedsGil = true;

  struct Encoding {
    std::string name;
  };
  static Encoding parse_encoding(std::string_view text) { return {std::string(text)}; }

  PythonGame(nanobind::object state, int action_size)
      : state_(std::move(state)), action_size_(action_size) {}

  const nanobind::object& state() const { return state_; }

  int action_size() const { return action_size_; }
  int to_play() const { return get<int>("to_play"); }
  int plies() const { return get<int>("plies"); }
  void legal_actions(std::vector<Action>& actions) const {
    actions.clear();
    for (const nanobind::handle action : nanobind::iter(state_.attr("legal_actions")())) {
      const auto number = static_cast<Action>(nanobind::int_(nanobind::borrow(action)));
      if (number < 0 || number >= action_size_) {
        throw Error("legal_actions gave " + std::to_string(number) + " in a game with " +
                    std::to_string(action_size_) + " actions");
      }
      actions.push_back(number);
    }
  }
  bool is_legal(Action action) const {
    return nanobind::cast<bool>(nanobind::bool_(state_.attr("is_legal")(action)));
  }
  void play(Action action) { state_ = state_.attr("play")(action); }
  std::optional<float> result() const {
    const nanobind::object result = state_.attr("result");
    if (result.is_none()) return std::nullopt;
    return nanobind::cast<float>(result);
  }
  /// The view lives until the next call on this thread.
  std::string_view end_reason() const {
    static thread_local std::string reason;
    reason = get<std::string>("end_reason");
    return reason;
  }
  std::uint64_t position_key() const { return get<std::uint64_t>("position_key"); }
  std::uint64_t observation_key() const { return get<std::uint64_t>("observation_key"); }

  /// 0 if the Python game does not know it.
  int plies_since_repetition() const {
    if (!nanobind::hasattr(state_, "plies_since_repetition")) return 0;
    return get<int>("plies_since_repetition");
  }

  Shape observation_shape(const Encoding& encoding) const {
    const nanobind::object shape = observation(encoding).attr("shape");
    if (nanobind::len(shape) != 3) throw Error("observe must give planes, height and width");
    return {nanobind::cast<int>(shape[0]), nanobind::cast<int>(shape[1]),
            nanobind::cast<int>(shape[2])};
  }
  void observe(const Encoding& encoding, std::span<float> planes) const {
    using Planes = nanobind::ndarray<const float, nanobind::c_contig, nanobind::device::cpu>;
    const auto array = nanobind::cast<Planes>(observation(encoding));
    if (array.size() != planes.size()) throw Error("observe gave planes of another shape");
    std::memcpy(planes.data(), array.data(), planes.size_bytes());
  }

 private:
  template <class T>
  T get(const char* name) const {
    return nanobind::cast<T>(state_.attr(name));
  }
  nanobind::object observation(const Encoding& encoding) const {
    return state_.attr("observe")(encoding.name);
  }

  nanobind::object state_;
  int action_size_;
};

static_assert(Game<PythonGame>);

}  // namespace zerogames
