#pragma once

#include <algorithm>

#include "chunk.hpp"

namespace zerogames::chess {

/// What is known about the moves of a game, one number each; NaN or empty where unknown.
struct ChunkColumns {
  std::span<const std::int64_t> policy_offsets;  ///< empty: one-hot policies
  std::span<const Action> policy_actions;
  std::span<const float> policy_targets;
  /// root, best, played, raw: q, d, m each; in the order of VALUE_COLUMNS. Empty if unknown.
  std::array<std::span<const float>, 12> values;
  std::span<const float> surprise;
  std::span<const std::int32_t> visits;
  std::span<const std::uint8_t> proved;  ///< whether best_q is a proof
};

/// Throws Error unless the columns fit the moves, so that no ply looks behind an end.
inline void check_columns(const ChunkColumns& columns, std::size_t plies) {
  const auto is_each = [&](const auto& column) { return column.empty() || column.size() == plies; };
  const auto& offsets = columns.policy_offsets;
  bool fits = is_each(columns.surprise) && is_each(columns.visits) && is_each(columns.proved) &&
              columns.policy_targets.size() == columns.policy_actions.size();
  for (const auto& values : columns.values) fits = fits && is_each(values);
  if (!offsets.empty()) {
    const auto entries = static_cast<std::int64_t>(columns.policy_actions.size());
    fits = fits && offsets.size() == plies + 1 && offsets[0] >= 0 && offsets[plies] <= entries &&
           std::ranges::is_sorted(offsets);
  }
  if (!fits) throw Error("the columns of a game do not fit its moves");
}

/// Writes version 6 records, input format 1, of a whole game. What no search has found is taken
/// from the result (q and d) and the length of the game (m).
inline std::string write_chunk(State state, std::span<const Action> actions,
                               const ChunkColumns& columns, float result) {
  check_columns(columns, actions.size());
  constexpr std::uint32_t kVersion = 6;
  const ChunkLayout& layout = chunk_layout(kVersion);
  std::string out(actions.size() * layout.size, '\0');
  std::vector<Action> legal;
  std::vector<float> policy(kNumActions);
  PackedPlanes packed;
  const Encoding encoding{HistoryFill::kNo};  // as in self-play data
  const auto plies = static_cast<int>(actions.size());
  const auto known = [&](int column, int ply, float otherwise) {
    const auto values = columns.values[static_cast<std::size_t>(column)];
    const float value = values.empty() ? NAN : values[static_cast<std::size_t>(ply)];
    return std::isnan(value) ? otherwise : value;
  };
  const float last_m = plies ? known(5, plies - 1, 1.0F) : 0;
  for (int ply = 0; ply < plies; ++ply) {
    const Action action = actions[static_cast<std::size_t>(ply)];
    if (action < 0 || action >= kNumActions || !state.is_legal(action)) {
      throw Error("move " + std::to_string(ply + 1) + " is not legal");
    }
    char* record = out.data() + static_cast<std::size_t>(ply) * layout.size;
    const auto put = [&](std::size_t offset, auto value) {
      std::memcpy(record + offset, &value, sizeof(value));
    };
    put(0, kVersion);
    put(layout.input_format, std::uint32_t{1});

    std::fill(policy.begin(), policy.end(), -1.0F);
    state.legal_actions(legal);
    for (const Action move : legal) policy[static_cast<std::size_t>(move)] = 0;
    Action best = action;
    const std::size_t row = static_cast<std::size_t>(ply);
    const bool searched = !columns.policy_offsets.empty() &&
                          columns.policy_offsets[row + 1] > columns.policy_offsets[row];
    if (searched) {
      float most = 0;
      for (auto i = columns.policy_offsets[row]; i < columns.policy_offsets[row + 1]; ++i) {
        const Action move = columns.policy_actions[static_cast<std::size_t>(i)];
        const float p = columns.policy_targets[static_cast<std::size_t>(i)];
        if (move < 0 || move >= kNumActions || policy[static_cast<std::size_t>(move)] < 0) {
          throw Error("the policy at move " + std::to_string(ply + 1) + " is not a policy");
        }
        policy[static_cast<std::size_t>(move)] = p;
        if (p > most || (p == most && move == action)) most = p, best = move;
      }
    } else {
      policy[static_cast<std::size_t>(action)] = 1;
    }
    std::memcpy(record + layout.policy, policy.data(), 4 * kNumActions);

    state.pack(encoding, packed);
    for (int plane = 0; plane < kChunkPlanes; ++plane) {
      put(layout.planes + 8 * static_cast<std::size_t>(plane),
          mirror_files(packed.bits[static_cast<std::size_t>(plane)]));
    }
    for (std::size_t flag = 0; flag < 6; ++flag) {
      put(layout.flags + flag, static_cast<std::uint8_t>(std::min(packed.constants[flag], 255.0F)));
    }
    if (!columns.proved.empty() && columns.proved[row]) {
      put(layout.flags + 6, std::uint8_t{1 << kProvedBit});
    }
    const float result_q = state.board().black_to_move ? 0 - result : result;
    const float result_d = 1 - std::abs(result);
    const float left = last_m + static_cast<float>(plies - 1 - ply);
    const std::array<float, 7> root = {known(0, ply, result_q),
                                       known(3, ply, result_q),
                                       known(1, ply, result_d),
                                       known(4, ply, result_d),
                                       known(2, ply, left),
                                       known(5, ply, left),
                                       left};
    put(layout.root, root);
    const std::array<float, 8> rest = {result_q,
                                       result_d,
                                       known(6, ply, result_q),
                                       known(7, ply, result_d),
                                       known(8, ply, left),
                                       known(9, ply, NAN),
                                       known(10, ply, NAN),
                                       known(11, ply, NAN)};
    put(layout.result, rest);
    put(layout.visits, columns.visits.empty() ? 0 : columns.visits[row]);
    put(layout.visits + 4, static_cast<std::uint16_t>(action));
    put(layout.visits + 6, static_cast<std::uint16_t>(best));
    const float kld = columns.surprise.empty() ? NAN : columns.surprise[row];
    put(layout.visits + 8, std::isnan(kld) ? 0.0F : kld);
    state.play(action);
  }
  return out;
}

}  // namespace zerogames::chess
