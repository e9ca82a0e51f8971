#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "board.hpp"
#include "zerogames/game.hpp"

namespace zerogames::chess {

/// The 1858 policy entries: queen and knight moves ordered by from- and to-square (knight
/// promotions among them), then promotions to queen, rook and bishop. All in the mover's view.
inline constexpr int kNumActions = 1858;
inline constexpr int kNumPlainActions = 1792;
inline constexpr int kNoAction = -1;

namespace detail {

struct PolicyTables {
  std::array<std::array<std::int16_t, 64>, 64> plain{};  ///< [from][to], kNoAction for no move.
  std::array<Move, kNumActions> moves{};
};

/// The pair of files is 2 * from + to, since files are at most one apart.
constexpr int promotion_action(int from_file, int to_file, Promotion piece) {
  const int order = static_cast<int>(Promotion::kQueen) - static_cast<int>(piece);
  return kNumPlainActions + 3 * (2 * from_file + to_file) + order;
}

inline constexpr PolicyTables kPolicy = [] {
  PolicyTables tables;
  int next = 0;
  for (int from = 0; from < 64; ++from) {
    const Bitboard reach = kRookRays[from] | kBishopRays[from] | kKnightAttacks[from];
    for (int to = 0; to < 64; ++to) {
      const bool listed = (reach & bit(to)) != 0;
      tables.plain[from][to] = static_cast<std::int16_t>(listed ? next : kNoAction);
      if (!listed) continue;
      tables.moves[next++] = {static_cast<std::uint8_t>(from), static_cast<std::uint8_t>(to)};
    }
  }
  for (int from = 0; from < 8; ++from) {
    for (int to = std::max(0, from - 1); to <= std::min(7, from + 1); ++to) {
      for (const auto piece : {Promotion::kQueen, Promotion::kRook, Promotion::kBishop}) {
        tables.moves[promotion_action(from, to, piece)] = {
            static_cast<std::uint8_t>(48 + from), static_cast<std::uint8_t>(56 + to), piece};
      }
    }
  }
  return tables;
}();

}  // namespace detail

/// The policy entry of a move.
constexpr Action action_of(Move move) {
  if (move.promotion == Promotion::kNone || move.promotion == Promotion::kKnight) {
    return detail::kPolicy.plain[move.from][move.to];
  }
  return detail::promotion_action(file_of(move.from), file_of(move.to), move.promotion);
}

/// The move of a policy entry here: a plain step of a pawn to the last rank makes a knight.
constexpr Move move_of(const Board& board, Action action) {
  Move move = detail::kPolicy.moves[action];
  if (action < kNumPlainActions && bit(move.from) & kRank7 & board.pawns) {
    move.promotion = Promotion::kKnight;
  }
  return move;
}

/// The entry as text in the mover's view, e.g. `e2e4`, `a7a8q`.
inline std::string action_name(Action action) {
  const Move move = detail::kPolicy.moves[action];
  std::string name;
  for (const int square : {move.from, move.to}) {
    name += static_cast<char>('a' + file_of(square));
    name += static_cast<char>('1' + rank_of(square));
  }
  if (move.promotion != Promotion::kNone) {
    name += std::string_view(" nbrq")[static_cast<std::size_t>(move.promotion)];
  }
  return name;
}

inline constexpr int kConvPlanes = 73;

/// What the convolutional head's planes [73][from-square] mean, kNoAction where they mean nothing.
inline std::vector<Action> conv_policy_map() {
  // Clockwise from north, as queens; then the knight's leaps in the same sense.
  constexpr std::array<detail::Step, 8> directions = {
      {{0, 1}, {1, 1}, {1, 0}, {1, -1}, {0, -1}, {-1, -1}, {-1, 0}, {-1, 1}}};
  std::vector<Action> map;
  map.reserve(kConvPlanes * 64);
  const auto add_plane = [&](detail::Step step, Promotion promotion) {
    for (int from = 0; from < 64; ++from) {
      const int file = file_of(from) + step.file, rank = rank_of(from) + step.rank;
      const bool allowed = promotion == Promotion::kNone || rank_of(from) == 6;
      map.push_back(allowed && detail::on_board(file, rank)
                        ? action_of({static_cast<std::uint8_t>(from),
                                     static_cast<std::uint8_t>(square_at(file, rank)), promotion})
                        : kNoAction);
    }
  };
  for (const auto direction : directions) {
    for (int distance = 1; distance <= 7; ++distance) {
      add_plane({direction.file * distance, direction.rank * distance}, Promotion::kNone);
    }
  }
  for (const auto leap : detail::kKnightSteps) add_plane(leap, Promotion::kNone);
  for (const int file : {-1, 0, 1}) {
    for (const auto piece : {Promotion::kRook, Promotion::kBishop, Promotion::kQueen}) {
      add_plane({file, 1}, piece);
    }
  }
  return map;
}

/// What the attention head's entries mean: 64 * from + to, then promotions by from-file, to-file
/// and queen, rook, bishop.
inline std::vector<Action> attention_policy_map() {
  std::vector<Action> map;
  map.reserve(64 * 64 + 8 * 24);
  for (int from = 0; from < 64; ++from) {
    for (int to = 0; to < 64; ++to) map.push_back(detail::kPolicy.plain[from][to]);
  }
  for (int from = 0; from < 8; ++from) {
    for (int to = 0; to < 8; ++to) {
      for (const auto piece : {Promotion::kQueen, Promotion::kRook, Promotion::kBishop}) {
        const bool near = from - to <= 1 && to - from <= 1;
        map.push_back(near ? detail::promotion_action(from, to, piece) : kNoAction);
      }
    }
  }
  return map;
}

}  // namespace zerogames::chess
