#pragma once

#include "moves.hpp"

namespace zerogames::shogi {

inline int count_moves(const Board& board, const CheckInfo& checks) {
  int moves = 0;
  for_each_plane(board, checks, [&](int, Bitboard targets) {
    moves += count(targets);
    return true;
  });
  return moves;
}

/// The number of move sequences of `depth` plies; ends by repetition, declaration and length are
/// not looked at, as is usual. `check` is called every few milliseconds and may throw to end it.
template <typename Check>
std::uint64_t perft(const Board& board, int depth, const Check& check) {
  if (depth <= 0) return 1;
  const CheckInfo checks = find_checks(board);
  if (depth == 1) return static_cast<std::uint64_t>(count_moves(board, checks));
  if (depth == 3) check();
  std::uint64_t nodes = 0;
  for_each_move(board, checks, [&](Move move) {
    Board next = board;
    next.play(move);
    nodes += perft(next, depth - 1, check);
  });
  return nodes;
}

inline std::uint64_t perft(const Board& board, int depth) {
  return perft(board, depth, [] {});
}

}  // namespace zerogames::shogi
