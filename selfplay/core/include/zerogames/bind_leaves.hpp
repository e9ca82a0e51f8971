#pragma once

// What search and pool share on their way to Python: leaves as planes, the net's numbers, the GIL.

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>

#include "zerogames/bind_numpy.hpp"
#include "zerogames/game.hpp"
#include "zerogames/net_outputs.hpp"

namespace zerogames::detail {

template <class G>
constexpr bool kHoldsGil = requires { requires G::kNeedsGil; };

/// Calls `work` without the GIL, unless the game itself is written in Python.
template <class G, class Work>
decltype(auto) without_gil(Work work) {
  if constexpr (kHoldsGil<G>) {
    return work();
  } else {
    const nb::gil_scoped_release release;
    return work();
  }
}

/// The state as Python knows it: an adapter gives the object it wraps.
template <class G>
nb::object to_python(const G& state) {
  if constexpr (kHoldsGil<G>) {
    return state.state();
  } else {
    return nb::cast(G(state));
  }
}
/// The inverse; throws Error for a state of another game, or of another size of the same game.
template <class G>
G from_python(nb::handle state, int action_size) {
  if constexpr (kHoldsGil<G>) {
    return G(nb::borrow(state), action_size);
  } else {
    const G* found = nullptr;
    if (!nb::try_cast(state, found) || !found) throw Error("this is no state of the game");
    if (found->action_size() != action_size) {
      throw Error("a state with " + std::to_string(found->action_size()) +
                  " actions does not fit a game with " + std::to_string(action_size));
    }
    return *found;
  }
}

/// Encodes leaves into planes [capacity, P, H, W]: the caller's array or one that is used again.
template <Game G>
class LeafPlanes {
 public:
  LeafPlanes(const G& state, std::string_view encoding, bool needs_observation)
      : encoding_(G::parse_encoding(encoding)),
        shape_(state.observation_shape(encoding_)),
        needs_observation_(needs_observation) {}

  /// Throws Error for a state whose planes have another shape; they would not fit the buffers.
  void require_fits(const G& state) const {
    if (state.observation_shape(encoding_) != shape_) {
      throw Error("the planes of this state have another shape than those of the game");
    }
  }

  /// Calls `collect(on_leaf)` without the GIL; `on_leaf(state, row)` encodes a leaf, and `collect`
  /// gives at most `capacity` of them. Returns a view of the rows that were filled.
  template <class Collect>
  nb::object fill(nb::handle out, std::size_t capacity, Collect collect) {
    nb::object planes = prepare(out, capacity);
    float* const data = float_data(planes);
    const std::size_t rows = without_gil<G>([&] {
      return collect([&](const G& leaf, std::size_t row) {
        if (!needs_observation_) return;
        const auto size = static_cast<std::size_t>(shape_.size());
        leaf.observe(encoding_, {data + row * size, size});
      });
    });
    PyObject* view = PySequence_GetSlice(planes.ptr(), 0, static_cast<Py_ssize_t>(rows));
    if (!view) throw nb::python_error();
    return nb::steal(view);
  }

 private:
  nb::object prepare(nb::handle out, std::size_t rows) {
    if (!out.is_none()) {
      require_planes(out, shape_, rows);
      return nb::borrow(out);
    }
    if (rows > capacity_) {
      own_ = new_planes(shape_, rows);
      capacity_ = rows;
    }
    return own_;
  }

  typename G::Encoding encoding_;
  Shape shape_;
  bool needs_observation_;
  std::size_t capacity_ = 0;
  nb::object own_;
};

/// Checks the shapes of what an evaluator returned for `rows` leaves.
inline NetOutputs read_net_outputs(nb::handle policy_logits, nb::handle wdl, nb::handle moves_left,
                                   std::size_t rows, int num_actions) {
  const auto columns = static_cast<std::size_t>(num_actions);
  return {require_floats(policy_logits, "policy_logits", rows, columns),
          require_floats(wdl, "wdl", rows, 3),
          moves_left.is_none() ? nullptr : require_floats(moves_left, "moves_left", rows), columns};
}

// The documentation of the members that a search and a pool have in common.
constexpr const char* kApplyDoc =
    "Complete the oldest batch: `[B, A]` logits, `[B, 3]` probabilities, `[B]` turns left.";
constexpr const char* kDoneDoc = "Whether there is nothing left to search, and no batch waits.";
constexpr const char* kTreeBytesDoc = "Memory set aside for the trees.";
constexpr const char* kCacheHitsDoc = "Leaves found in the evaluation cache.";
constexpr const char* kCacheMissesDoc = "Leaves not found there.";
constexpr const char* kNetVersionDoc =
    "Part of the cache's key, and noted in games that begin: change it with the net.";

}  // namespace zerogames::detail
