#pragma once

#include "moves.hpp"

namespace zerogames::chess {

namespace detail {

inline int count_pawn_moves(const Board& board, const CheckInfo& checks) {
  const Bitboard pawns = board.ours & board.pawns, empty = ~board.occupied();
  const Bitboard unpinned = pawns & ~checks.pinned;
  const Bitboard push = north(unpinned) & empty;
  const Bitboard pushes = push & checks.evasion_mask;
  const Bitboard doubles = north(push & kRank3) & empty & checks.evasion_mask;
  const Bitboard wanted = board.theirs & checks.evasion_mask;
  const Bitboard west = north_west(unpinned) & wanted, east = north_east(unpinned) & wanted;
  int moves = count(pushes) + count(doubles) + count(west) + count(east);
  if (pawns & kRank7) {
    moves += 3 * (count(pushes & kRank8) + count(west & kRank8) + count(east & kRank8));
  }
  for (Bitboard pinned = pawns & checks.pinned; pinned;) {
    const int from = pop_lowest(pinned);
    const Bitboard targets =
        pawn_steps(board, bit(from)) & checks.evasion_mask & kLine[checks.king][from];
    moves += count(targets) + 3 * count(targets & kRank8);
  }
  if (board.en_passant) moves += count(en_passant_takers(board, checks));
  return moves;
}

}  // namespace detail

/// The number of legal moves, without making a list: whole sets of pawns are counted at once, and
/// a queen is counted once as a rook and once as a bishop.
inline int count_moves(const Board& board) {
  const CheckInfo checks = find_checks(board);
  int moves = count(detail::king_targets(board, checks));
  if (!checks.evasion_mask) return moves;
  const Bitboard occupied = board.occupied(), allowed = checks.evasion_mask & ~board.ours;
  const Bitboard unpinned = board.ours & ~checks.pinned;
  moves += detail::count_pawn_moves(board, checks);
  for (Bitboard pieces = unpinned & board.knights; pieces;) {
    moves += count(kKnightAttacks[pop_lowest(pieces)] & allowed);
  }
  for (Bitboard pieces = unpinned & board.diagonals; pieces;) {
    moves += count(bishop_attacks(pop_lowest(pieces), occupied) & allowed);
  }
  for (Bitboard pieces = unpinned & board.straights; pieces;) {
    moves += count(rook_attacks(pop_lowest(pieces), occupied) & allowed);
  }
  for (Bitboard pieces = board.ours & checks.pinned & ~board.pawns & ~board.knights; pieces;) {
    const int from = pop_lowest(pieces);
    moves += count(detail::piece_targets(board, checks, from, 0));
  }
  return moves;
}

/// The number of move sequences of `depth` plies; game ends other than mate and stalemate are
/// not looked at, as is usual. `check` is called every few milliseconds and may throw to end it.
template <typename Check>
std::uint64_t perft(const Board& board, int depth, const Check& check) {
  if (depth <= 0) return 1;
  if (depth == 1) return static_cast<std::uint64_t>(count_moves(board));
  if (depth == 4) check();
  std::uint64_t nodes = 0;
  for_each_move(board, find_checks(board), [&](Move move) {
    Board next = board;
    next.play(move);
    nodes += perft(next, depth - 1, check);
  });
  return nodes;
}

inline std::uint64_t perft(const Board& board, int depth) {
  return perft(board, depth, [] {});
}

}  // namespace zerogames::chess
