#pragma once

#include "attacks.hpp"

namespace zerogames::shogi {

/// Moves are sets of target squares by *plane*: the ten directions in the mover's view, the same
/// ten with promotion, then drops of the seven kinds. The piece that moves is the first one behind
/// the target.
inline constexpr int kDropPlane = 2 * kNumWays;
inline constexpr int kNumPlanes = kDropPlane + kNumHandKinds;

namespace detail {

struct Targets {
  Bitboard plain = 0;
  Bitboard promoting = 0;
};

/// The squares to which our pieces may go in one direction; `king_squares` are those that the king
/// may enter.
template <int side, int way>
constexpr Targets targets_of(const Board& board, const CheckInfo& checks, Bitboard king_squares) {
  constexpr int direction = kDirectionOf<side, way>;
  constexpr Bitboard zone = promotion_zone(side);
  const Bitboard own = board.sides[side], allowed = checks.evasion_mask & ~own;
  Targets targets;
  const auto& of = board.movers;
  if constexpr (way >= kNumLines) {
    const Bitboard reached = shift<direction>(of[kKnights] & own & ~checks.pinned) & allowed;
    targets.plain = reached & ~dead_squares(side, kKnight);
    targets.promoting = reached & zone;
  } else {
    const Bitboard movable = own & ~(checks.pinned & ~checks.pinned_on[kAxis[direction]]);
    // What may promote, and what may not, because it is a gold or has promoted.
    constexpr bool straight = way == kUp || way == kLeft || way == kRight || way == kDown;
    Bitboard stepping = steppers<way>(board) & movable;
    Bitboard sliding = sliders<way>(board) & movable;
    const Bitboard young = (of[kPawns] | of[kLances] | of[kSilvers] | of[kBishops] | of[kRooks]);
    if (stepping) {
      const Bitboard reached = shift<direction>(stepping);
      targets.plain = reached;
      if constexpr (way != kLeft && way != kRight && way != kDown) {
        const Bitboard promotable = stepping & young;
        targets.promoting =
            (shift<direction>(promotable) & zone) | shift<direction>(promotable & zone);
      }
      if constexpr (way == kUp) {
        targets.plain &= ~(last_rows(side, 1) & shift<direction>(stepping & of[kPawns]));
      }
    }
    if (sliding) {
      const Bitboard empty = board.empty();
      targets.plain |= slide<direction>(sliding, empty);
      if (const Bitboard promotable =
              sliding & (straight ? of[kRooks] | of[kLances] : of[kBishops])) {
        targets.promoting |= (slide<direction>(promotable, empty) & zone) |
                             slide<direction>(promotable & zone, empty);
      }
      if constexpr (way == kUp) {
        if (const Bitboard lances = sliding & of[kLances]) {
          targets.plain &= ~(last_rows(side, 1) & slide<direction>(lances, empty));
        }
      }
    }
    targets.plain &= allowed;
    targets.promoting &= allowed;
    targets.plain |= shift<direction>(of[kKings] & own) & king_squares;
  }
  return targets;
}

template <int side>
constexpr Bitboard king_squares(const Board& board) {
  const Bitboard king = board.movers[kKings] & board.sides[side];
  // The king does not hide the squares behind it.
  return ~board.sides[side] & ~attacked_by<other(side)>(board, board.empty() | king);
}

template <int side>
bool mates_by_pawn_drop(const Board& board, int square);

/// The squares where our pieces in hand may be put, by kind.
template <int side>
Bitboard drop_targets(const Board& board, const CheckInfo& checks, int kind) {
  if (board.hands[side][kind] == 0) return 0;
  Bitboard targets = board.empty() & checks.evasion_mask & ~dead_squares(side, kind);
  if (kind != kPawn) return targets;
  targets &= ~columns_of(board.movers[kPawns] & board.sides[side]);
  constexpr int back = kOpposite[kDirectionOf<side, kUp>];
  const Bitboard checking = shift<back>(board.movers[kKings] & board.sides[other(side)]) & targets;
  if (checking && mates_by_pawn_drop<side>(board, lowest(checking))) targets &= ~checking;
  return targets;
}

/// Calls visit(plane, targets) for the planes in order, as long as it returns true. The king goes
/// to `king` only.
template <int side, class Visit>
bool visit_planes(const Board& board, const CheckInfo& checks, Bitboard king, Visit visit) {
  std::array<Bitboard, kNumWays> promoting;
  bool goes_on = true;
  for_each_index<kNumWays>([&]<int way>() {
    if (!goes_on) return;
    const Targets targets = targets_of<side, way>(board, checks, king);
    promoting[way] = targets.promoting;
    goes_on = visit(way, targets.plain);
  });
  for (int way = 0; way < kNumWays && goes_on; ++way) {
    goes_on = visit(kNumWays + way, promoting[way]);
  }
  if (!checks.evasion_mask) return goes_on;
  for (int kind = 0; kind < kNumHandKinds && goes_on; ++kind) {
    goes_on = visit(kDropPlane + kind, drop_targets<side>(board, checks, kind));
  }
  return goes_on;
}

template <int side>
constexpr Bitboard king_targets(const Board& board) {
  const Bitboard king = board.movers[kKings] & board.sides[side];
  Bitboard steps = 0;
  for_each_index<kNumLines>([&]<int direction>() { steps |= shift<direction>(king); });
  return steps & king_squares<side>(board);
}

template <int side>
bool has_legal_move(const Board& board, const CheckInfo& checks) {
  // The king last: whether it may go is the most work to find out, and rarely matters.
  const auto is_empty = [](int, Bitboard targets) { return targets == 0; };
  return !visit_planes<side>(board, checks, 0, is_empty) || king_targets<side>(board) != 0;
}

/// Whether a pawn of ours put on `square`, before their king, leaves them without a move.
template <int side>
bool mates_by_pawn_drop(const Board& board, int square) {
  if (!(attacked_by<side>(board, board.empty()) & bit(square))) return false;
  Board next = board;
  next.put(square, piece_of(side, kPawn));
  return !has_legal_move<other(side)>(next, find_checks<other(side)>(next));
}

template <int side>
Bitboard targets_on_plane(const Board& board, const CheckInfo& checks, int plane) {
  if (plane >= kDropPlane) return drop_targets<side>(board, checks, plane - kDropPlane);
  const Bitboard king = king_squares<side>(board);
  Bitboard targets = 0;
  for_each_index<kNumWays>([&]<int way>() {
    if (plane % kNumWays != way) return;
    const Targets found = targets_of<side, way>(board, checks, king);
    targets = plane < kNumWays ? found.plain : found.promoting;
  });
  return targets;
}

}  // namespace detail

/// Calls visit(plane, targets) for the planes in order, as long as it returns true; targets are
/// squares of the board, and may be none.
template <class Visit>
void for_each_plane(const Board& board, const CheckInfo& checks, Visit visit) {
  if (board.side == kBlack) {
    detail::visit_planes<kBlack>(board, checks, detail::king_squares<kBlack>(board), visit);
  } else {
    detail::visit_planes<kWhite>(board, checks, detail::king_squares<kWhite>(board), visit);
  }
}

inline bool has_legal_move(const Board& board, const CheckInfo& checks) {
  return board.side == kBlack ? detail::has_legal_move<kBlack>(board, checks)
                              : detail::has_legal_move<kWhite>(board, checks);
}

/// The target squares of one plane.
inline Bitboard legal_targets(const Board& board, const CheckInfo& checks, int plane) {
  return board.side == kBlack ? detail::targets_on_plane<kBlack>(board, checks, plane)
                              : detail::targets_on_plane<kWhite>(board, checks, plane);
}

/// The move to a target of a plane. Requires a legal one.
inline Move move_on_plane(const Board& board, int plane, int to) {
  Move move{0, static_cast<std::uint8_t>(to), plane >= kNumWays && plane < kDropPlane};
  if (plane >= kDropPlane) {
    move.from = static_cast<std::uint8_t>(kSquares + plane - kDropPlane);
    return move;
  }
  const int way = plane % kNumWays;
  const int back = board.side == kBlack ? kOpposite[way] : way;
  if (way >= kNumLines) {
    move.from = static_cast<std::uint8_t>(to + step_of(back));
  } else {
    move.from = static_cast<std::uint8_t>(nearest(kRays[back][to] & board.occupied(), back));
  }
  return move;
}

/// The plane of a move, or -1 where no piece moves so.
inline int plane_of(const Board& board, Move move) {
  if (move.is_drop()) return kDropPlane + move.drop_kind();
  const int rows = row_of(move.to) - row_of(move.from);
  const int columns = column_of(move.to) - column_of(move.from);
  for (int way = 0; way < kNumWays; ++way) {
    const int direction = board.side == kBlack ? way : kOpposite[way];
    const bool found = way < kNumLines
                           ? (kRays[direction][move.from] & bit(move.to)) != 0
                           : rows == kRowStep[direction] && columns == kColumnStep[direction];
    if (found) return way + (move.promotes ? kNumWays : 0);
  }
  return -1;
}

/// Takes any squares 0 to 80 and kinds in hand.
inline bool is_legal(const Board& board, const CheckInfo& checks, Move move) {
  const int plane = plane_of(board, move);
  return plane >= 0 && (legal_targets(board, checks, plane) & bit(move.to)) &&
         move_on_plane(board, plane, move.to) == move;
}

/// Calls visit(move) for every legal move.
template <class Visit>
void for_each_move(const Board& board, const CheckInfo& checks, Visit visit) {
  for_each_plane(board, checks, [&](int plane, Bitboard targets) {
    while (targets) visit(move_on_plane(board, plane, pop_lowest(targets)));
    return true;
  });
}

}  // namespace zerogames::shogi
