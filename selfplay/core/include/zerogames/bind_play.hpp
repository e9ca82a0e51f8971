#pragma once

// One call gives every native game its search, its pools of self-play games, its rollouts and the
// replay of recorded games into training samples. The framework finds them in the class of the
// state: `State.Search`, `State.Pool`, `State.Rollouts` and `state.replay_samples(...)`.
//
//   auto state = zerogames::bind_state<ConnectFour>(m, "ConnectFour");
//   zerogames::bind_play(state);
//
// The GIL is released while games are played, replayed and searched; a batch crosses the border
// once in each direction.

#include "zerogames/bind_game.hpp"
#include "zerogames/bind_pool.hpp"
#include "zerogames/bind_rollouts.hpp"
#include "zerogames/bind_samples.hpp"
#include "zerogames/bind_search.hpp"

namespace zerogames {

/// Replay needs a `PackedGame`; the records of another game are replayed in Python, slower.
template <Game G>
void bind_play(nb::class_<G>& state) {
  detail::bind_search<G>(state);
  detail::bind_pool<G>(state);
  detail::bind_rollouts<G>(state);
  if constexpr (PackedGame<G>) detail::bind_replay(state);
}

}  // namespace zerogames
