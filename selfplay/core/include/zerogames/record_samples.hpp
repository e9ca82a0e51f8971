#pragma once

#include <algorithm>
#include <cmath>

#include "zerogames/sample.hpp"

namespace zerogames {

/// A game to be made into samples; see zerogames/data/record_samples.py.
struct RecordColumns {
  std::span<const Action> actions;       ///< [plies]
  std::span<const std::int32_t> chosen;  ///< plies wanted, ascending
  /// Sparse policies: ply i owns entries offsets[i] to offsets[i + 1]. Empty: the action played.
  std::span<const std::int64_t> policy_offsets;
  std::span<const Action> policy_actions;
  std::span<const float> policy_targets;
  std::span<const float> search_q;  ///< [plies] or empty; NaN where unknown
  std::span<const float> search_d;
  std::span<const std::int32_t> turns_left;  ///< [plies]; empty where sides take turns
  float result = 0;                          ///< first player's view, -1 to 1
  bool is_whole = true;  ///< false for a line that was broken off: its end is not the game's
};

namespace detail {

/// Throws Error unless the columns fit the moves, so that no ply looks behind an end.
inline void check_columns(const RecordColumns& game) {
  const std::size_t plies = game.actions.size();
  const auto is_each = [&](const auto& column) { return column.empty() || column.size() == plies; };
  bool fits = is_each(game.search_q) && game.search_d.size() == game.search_q.size() &&
              game.policy_targets.size() == game.policy_actions.size();
  if (!game.policy_offsets.empty()) {
    const auto entries = static_cast<std::int64_t>(game.policy_actions.size());
    fits = fits && game.policy_offsets.size() == plies + 1 && game.policy_offsets[0] >= 0 &&
           game.policy_offsets[plies] <= entries && std::ranges::is_sorted(game.policy_offsets);
  }
  if (!fits) throw Error("the columns of a game do not fit its moves");
  if (!std::isfinite(game.result) || std::abs(game.result) > 1) {
    throw Error("the result of a game is -1 to 1");
  }
  std::int64_t last = -1;
  for (const std::int32_t ply : game.chosen) {
    if (ply <= last || static_cast<std::size_t>(ply) >= plies) {
      throw Error("the plies chosen of a game must ascend and be some that it has");
    }
    last = ply;
  }
}

}  // namespace detail

/// Replays a game from `state` and adds a sample for each chosen ply. Throws Error if a move or a
/// policy entry is not legal, or if the policy of a chosen ply does not sum to 1.
template <PackedGame G>
void replay_samples(G state, const typename G::Encoding& encoding, const RecordColumns& game,
                    SampleList& out) {
  detail::check_columns(game);
  const auto plies = static_cast<std::int32_t>(game.actions.size());
  if (!game.turns_left.empty() && game.turns_left.size() != game.actions.size()) {
    throw Error("turns_left must have a number for each move");
  }
  PackedPlanes packed;
  std::vector<Action> legal;
  const Shape shape = state.observation_shape(encoding);
  SampleHeader header;
  header.cells = static_cast<std::uint16_t>(shape.cells());
  header.action_size = static_cast<std::uint16_t>(state.action_size());
  const float one = 1.0F;
  std::size_t next = 0;
  for (std::int32_t ply = 0; ply < plies && next < game.chosen.size(); ++ply) {
    const Action action = game.actions[ply];
    if (action < 0 || action >= state.action_size() || !state.is_legal(action)) {
      throw Error("move " + std::to_string(ply + 1) + " is not legal");
    }
    if (game.chosen[next] == ply) {
      ++next;
      state.legal_actions(legal);
      state.pack(encoding, packed);
      const float sign = state.to_play() == 0 ? 1.0F : -1.0F;
      header.num_bit_planes = static_cast<std::uint16_t>(
          packed.bits.size() / static_cast<std::size_t>(words_per_plane(shape.cells())));
      SampleValues& values = header.values;
      values.result_q = sign * game.result;
      values.result_d = 1 - std::abs(game.result);
      const bool searched = !game.search_q.empty() && !std::isnan(game.search_q[ply]);
      values.search_q = searched ? game.search_q[ply] : values.result_q;
      values.search_d =
          searched ? (std::isnan(game.search_d[ply]) ? 0.0F : game.search_d[ply]) : values.result_d;
      const std::int32_t left = game.turns_left.empty() ? plies - ply : game.turns_left[ply];
      values.moves_left = game.is_whole ? static_cast<float>(left) : -1.0F;
      values.ply = static_cast<float>(ply);
      std::span<const Action> policy_actions(&action, 1);
      std::span<const float> policy(&one, 1);
      if (!game.policy_offsets.empty() && game.policy_offsets[ply + 1] > game.policy_offsets[ply]) {
        const auto first = static_cast<std::size_t>(game.policy_offsets[ply]);
        const auto count = static_cast<std::size_t>(game.policy_offsets[ply + 1]) - first;
        policy_actions = game.policy_actions.subspan(first, count);
        policy = game.policy_targets.subspan(first, count);
        float sum = 0;
        for (std::size_t entry = 0; entry < count; ++entry) {
          const Action target = policy_actions[entry];
          if (target < 0 || target >= state.action_size() || !state.is_legal(target) ||
              !(policy[entry] >= 0)) {
            throw Error("the policy at move " + std::to_string(ply + 1) + " is not a policy");
          }
          sum += policy[entry];
        }
        if (!(std::abs(sum - 1) < 1e-2F)) {
          throw Error("the policy at move " + std::to_string(ply + 1) + " does not sum to 1");
        }
      }
      out.add(header, packed.bits, packed.constants, legal, policy_actions, policy);
    }
    state.play(action);
  }
}

}  // namespace zerogames
