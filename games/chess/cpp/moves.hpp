#pragma once

#include "board.hpp"

namespace zerogames::chess {

/// Checkers, evasion mask and pinned pieces of the side to move, worked out once per position.
struct CheckInfo {
  int king = 0;  ///< Square of the own king.
  Bitboard checkers = 0;
  /// Target squares that leave no check standing, for pieces other than the king: every square
  /// without a check, capture or interposition in a single check, none in a double check.
  Bitboard evasion_mask = 0;
  /// Own pieces that are pinned to the king and must stay on their line with it.
  Bitboard pinned = 0;
};

inline CheckInfo find_checks(const Board& board) {
  CheckInfo checks;
  const int king = lowest(board.kings & board.ours);
  const Bitboard occupied = board.occupied();
  checks.king = king;
  checks.checkers =
      board.theirs & ((kKnightAttacks[king] & board.knights) |
                      ((north_west(bit(king)) | north_east(bit(king))) & board.pawns));
  Bitboard snipers =
      board.theirs & ((kRookRays[king] & board.straights) | (kBishopRays[king] & board.diagonals));
  while (snipers) {
    const int sniper = pop_lowest(snipers);
    const Bitboard blockers = kBetween[king][sniper] & occupied;
    if (!blockers) {
      checks.checkers |= bit(sniper);
    } else if (!(blockers & (blockers - 1))) {
      checks.pinned |= blockers & board.ours;
    }
  }
  if (!checks.checkers) {
    checks.evasion_mask = ~Bitboard{0};
  } else if (!(checks.checkers & (checks.checkers - 1))) {
    checks.evasion_mask = checks.checkers | kBetween[king][lowest(checks.checkers)];
  }
  return checks;
}

/// All squares the opponent attacks; `occupied` tells what stops a slider.
inline Bitboard attacked_by_them(const Board& board, Bitboard occupied) {
  const Bitboard their_pawns = board.theirs & board.pawns;
  Bitboard attacked = south_west(their_pawns) | south_east(their_pawns);
  for (Bitboard pieces = board.theirs & board.knights; pieces;) {
    attacked |= kKnightAttacks[pop_lowest(pieces)];
  }
  for (Bitboard pieces = board.theirs & board.diagonals; pieces;) {
    attacked |= bishop_attacks(pop_lowest(pieces), occupied);
  }
  for (Bitboard pieces = board.theirs & board.straights; pieces;) {
    attacked |= rook_attacks(pop_lowest(pieces), occupied);
  }
  return attacked | kKingAttacks[lowest(board.theirs & board.kings)];
}

namespace detail {

/// Own rooks with which the king may castle now; `attacked` as seen through the king.
inline Bitboard castling_rooks(const Board& board, const CheckInfo& checks, Bitboard attacked) {
  if (checks.checkers) return 0;
  Bitboard able = 0;
  for (Bitboard rooks = board.castling & kRank1; rooks;) {
    const int rook = pop_lowest(rooks);
    const CastlingTarget target = castling_target(checks.king, rook);
    const Bitboard others = board.occupied() ^ bit(checks.king) ^ bit(rook);
    const Bitboard king_path = kBetween[checks.king][target.king] | bit(target.king);
    const Bitboard rook_path = kBetween[rook][target.rook] | bit(target.rook);
    if ((king_path | rook_path) & others) continue;
    if (king_path & attacked) continue;
    // In Chess960 the rook may have been a shield along the rank.
    const Bitboard snipers = board.theirs & board.straights & kRank1;
    if (snipers && (rook_attacks(target.king, others | bit(target.rook)) & snipers)) continue;
    able |= bit(rook);
  }
  return able;
}

/// Everything the king may do; castling is shown by the rook's square.
inline Bitboard king_targets(const Board& board, const CheckInfo& checks) {
  const Bitboard steps = kKingAttacks[checks.king] & ~board.ours;
  if (!steps && !(board.castling & kRank1)) return 0;
  const Bitboard attacked = attacked_by_them(board, board.occupied() ^ bit(checks.king));
  return (steps & ~attacked) | castling_rooks(board, checks, attacked);
}

/// Own pawns that may take en passant. Two pawns leave a rank at once, so look again at all lines.
inline Bitboard en_passant_takers(const Board& board, const CheckInfo& checks) {
  const Bitboard target = board.en_passant, taken = south(target);
  // A check by anything else than a slider or the taken pawn stays.
  if (checks.checkers & (board.knights | board.pawns) & ~taken) return 0;
  Bitboard takers = 0;
  Bitboard pawns = (south_west(target) | south_east(target)) & board.ours & board.pawns;
  while (pawns) {
    const int from = pop_lowest(pawns);
    const Bitboard occupied = (board.occupied() ^ bit(from) ^ taken) | target;
    const Bitboard exposed = (rook_attacks(checks.king, occupied) & board.straights) |
                             (bishop_attacks(checks.king, occupied) & board.diagonals);
    if (!(exposed & board.theirs)) takers |= bit(from);
  }
  return takers;
}

/// Pushes and captures of one pawn without en passant, pins and checks left aside.
inline Bitboard pawn_steps(const Board& board, Bitboard pawn) {
  const Bitboard empty = ~board.occupied();
  const Bitboard push = north(pawn) & empty;
  return push | (north(push & kRank3) & empty) |
         ((north_west(pawn) | north_east(pawn)) & board.theirs);
}

/// The squares that a piece other than the king may go to.
inline Bitboard piece_targets(const Board& board, const CheckInfo& checks, int from,
                              Bitboard en_passant_takers) {
  const Bitboard piece = bit(from);
  Bitboard targets = 0;
  if (board.pawns & piece) {
    targets = pawn_steps(board, piece);
  } else if (board.knights & piece) {
    targets = kKnightAttacks[from] & ~board.ours;
  } else {
    const Bitboard occupied = board.occupied();
    if (board.diagonals & piece) targets |= bishop_attacks(from, occupied);
    if (board.straights & piece) targets |= rook_attacks(from, occupied);
    targets &= ~board.ours;
  }
  targets &= checks.evasion_mask;
  if (checks.pinned & piece) targets &= kLine[checks.king][from];
  if (en_passant_takers & piece) targets |= board.en_passant;
  return targets;
}

}  // namespace detail

/// The legal destinations of our piece on `from`; castling is shown by the rook's square.
inline Bitboard legal_targets(const Board& board, const CheckInfo& checks, int from) {
  if (from == checks.king) return detail::king_targets(board, checks);
  const bool may_take = (board.en_passant != 0) & ((board.pawns >> from) & 1);
  return detail::piece_targets(board, checks, from,
                               may_take ? detail::en_passant_takers(board, checks) : 0);
}

/// Calls visit(from, targets) for every own piece in the order of squares; targets may be empty.
template <class Visit>
void for_each_piece(const Board& board, const CheckInfo& checks, Visit visit) {
  const Bitboard takers = board.en_passant ? detail::en_passant_takers(board, checks) : 0;
  for (Bitboard pieces = board.ours; pieces;) {
    const int from = pop_lowest(pieces);
    visit(from, from == checks.king ? detail::king_targets(board, checks)
                                    : detail::piece_targets(board, checks, from, takers));
  }
}

/// Calls visit(move) for every legal move.
template <class Visit>
void for_each_move(const Board& board, const CheckInfo& checks, Visit visit) {
  for_each_piece(board, checks, [&](int from, Bitboard targets) {
    const auto from_square = static_cast<std::uint8_t>(from);
    const bool promotes = (bit(from) & kRank7 & board.pawns) != 0;
    while (targets) {
      const auto to = static_cast<std::uint8_t>(pop_lowest(targets));
      if (!promotes) {
        visit(Move{from_square, to});
        continue;
      }
      for (const auto piece :
           {Promotion::kQueen, Promotion::kRook, Promotion::kBishop, Promotion::kKnight}) {
        visit(Move{from_square, to, piece});
      }
    }
  });
}

inline bool has_legal_move(const Board& board, const CheckInfo& checks) {
  const Bitboard takers = board.en_passant ? detail::en_passant_takers(board, checks) : 0;
  for (Bitboard pieces = board.ours ^ bit(checks.king); pieces;) {
    if (detail::piece_targets(board, checks, pop_lowest(pieces), takers)) return true;
  }
  return detail::king_targets(board, checks) != 0;
}

/// Takes any squares 0 to 63.
inline bool is_legal(const Board& board, const CheckInfo& checks, Move move) {
  if (!(board.ours & bit(move.from))) return false;
  const bool promotes = (bit(move.from) & kRank7 & board.pawns) != 0;
  if (promotes != (move.promotion != Promotion::kNone)) return false;
  return (legal_targets(board, checks, move.from) & bit(move.to)) != 0;
}

}  // namespace zerogames::chess
