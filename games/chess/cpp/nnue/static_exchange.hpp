#pragma once

#include "../moves.hpp"
#include "features.hpp"

namespace zerogames::chess::nnue {

/// Piece values by role, in units of the evaluation, where a pawn is about 200.
inline constexpr std::array<int, 6> kPieceValues = {200, 700, 740, 1150, 2200, 0};

/// The value of the captured piece, 0 without a capture; en passant captures a pawn.
inline int captured_value(const Board& board, Move move) {
  const Bitboard to = bit(move.to);
  if (board.theirs & to) return kPieceValues[role_at(board, move.to)];
  const bool passes = (to & board.en_passant) != 0 && (board.pawns & bit(move.from)) != 0;
  return passes ? kPieceValues[0] : 0;
}

/// Static exchange evaluation (SEE): whether the captures on the target square gain the mover at
/// least `threshold`, if both sides capture with their least valuable attacker and stop when that
/// is better. Pins are ignored.
inline bool exchange_reaches(const Board& board, Move move, int threshold) {
  const Bitboard to = bit(move.to);
  if (board.ours & to) return threshold <= 0;  // Castling.
  const bool passes = (to & board.en_passant) != 0 && (board.pawns & bit(move.from)) != 0;
  int next_role = role_at(board, move.from);
  int balance = captured_value(board, move) - threshold;
  if (move.promotion != Promotion::kNone) {
    next_role = static_cast<int>(move.promotion);
    balance += kPieceValues[next_role] - kPieceValues[0];
  }
  if (balance < 0) return false;
  balance -= kPieceValues[next_role];
  if (balance >= 0) return true;

  Bitboard occupied = (board.occupied() ^ bit(move.from)) | to;
  if (passes) occupied ^= south(to);
  const Bitboard diagonals = board.diagonals, straights = board.straights;
  Bitboard attackers = (kKnightAttacks[move.to] & board.knights) |
                       (kKingAttacks[move.to] & board.kings) |
                       ((south_west(to) | south_east(to)) & board.ours & board.pawns) |
                       ((north_west(to) | north_east(to)) & board.theirs & board.pawns) |
                       (bishop_attacks(move.to, occupied) & diagonals) |
                       (rook_attacks(move.to, occupied) & straights);
  bool ours = false, reached = true;
  while (true) {
    attackers &= occupied;
    const Bitboard side = attackers & (ours ? board.ours : board.theirs);
    if (!side) return reached;
    reached = !reached;
    int role = 0;
    Bitboard takers = 0;
    for (; role < 6; ++role) {
      takers = side & pieces_of(board, role, ours ? 0 : 1);
      if (takers) break;
    }
    if (role == kKingRole) {
      // The king may only capture an undefended piece.
      const Bitboard others = attackers & (ours ? board.theirs : board.ours);
      return others ? !reached : reached;
    }
    balance = -balance - 1 - kPieceValues[role];
    if (balance >= 0) return reached;
    occupied ^= takers & (~takers + 1);
    if (role == 0 || role == 2 || role == 4)
      attackers |= bishop_attacks(move.to, occupied) & diagonals;
    if (role == 3 || role == 4) attackers |= rook_attacks(move.to, occupied) & straights;
    ours = !ours;
  }
}

}  // namespace zerogames::chess::nnue
