#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "zerogames/planes.hpp"

namespace zerogames {

/// Index into the policy, 0 <= action < action_size(), in the mover's view where the game says so.
using Action = std::int32_t;

/// What a native game is: a value-type state with the history its encoders need, that plays in
/// place. Search and self-play are templates on it; each plugin states `static_assert(Game<...>)`.
///
/// Views: `result` is the first player's, `observe` the side to move's.
/// Copy assignment must reuse memory: the search copies its root once per simulation.
template <class G>
concept Game =
    std::copyable<G> &&
    requires(const G& state, G& changing, Action action, std::vector<Action>& actions,
             const typename G::Encoding& encoding, std::span<float> planes, std::string_view text) {
      /// Number of policy entries.
      { state.action_size() } -> std::same_as<int>;
      /// 0 first player, 1 second; unspecified once the game is over.
      { state.to_play() } -> std::same_as<int>;
      /// Moves played since the initial or parsed position.
      { state.plies() } -> std::same_as<int>;
      /// Replaces the contents of `actions`, ascending; empty once the game is over.
      { state.legal_actions(actions) } -> std::same_as<void>;
      { state.is_legal(action) } -> std::same_as<bool>;
      /// Requires is_legal(action).
      { changing.play(action) } -> std::same_as<void>;
      /// +1 the first player won, 0 draw, -1 the second player won; empty before its end.
      { state.result() } -> std::same_as<std::optional<float>>;
      /// Why the game ended, e.g. "checkmate"; empty before its end.
      { state.end_reason() } -> std::same_as<std::string_view>;
      /// Equal for equal positions under the game's repetition rule.
      { state.position_key() } -> std::same_as<std::uint64_t>;
      /// Covers everything any encoder reads; keys the evaluation cache.
      { state.observation_key() } -> std::same_as<std::uint64_t>;
      /// An encoding with its options, from text such as "lc0-classic:fill=always"; throws Error.
      { G::parse_encoding(text) } -> std::same_as<typename G::Encoding>;
      { state.observation_shape(encoding) } -> std::same_as<Shape>;
      /// Writes all `observation_shape(encoding).size()` values.
      { state.observe(encoding, planes) } -> std::same_as<void>;
    };

/// A game whose planes are all bits or constants has a packed form for transport, 32 times smaller.
template <class G>
concept PackedGame = Game<G> && requires(const G& state, const typename G::Encoding& encoding,
                                         PackedPlanes& packed) {
  { state.pack(encoding, packed) } -> std::same_as<void>;
};

}  // namespace zerogames
