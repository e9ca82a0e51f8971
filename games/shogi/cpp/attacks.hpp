#pragma once

#include "board.hpp"

namespace zerogames::shogi {

/// A direction of a side's pieces, 0 to 9 as their owner sees it, on the board.
template <int side, int way>
inline constexpr int kDirectionOf = side == kBlack ? way : kOpposite[way];

/// Pieces of both sides that take a step in a direction as their owner sees it; kings apart.
template <int way>
constexpr Bitboard steppers(const Board& board) {
  const auto& of = board.movers;
  if constexpr (way == kUp) return of[kPawns] | of[kSilvers] | of[kGolds] | of[kHorses];
  if constexpr (way == kUpLeft || way == kUpRight) {
    return of[kSilvers] | of[kGolds] | of[kDragons];
  }
  if constexpr (way == kLeft || way == kRight || way == kDown) return of[kGolds] | of[kHorses];
  if constexpr (way == kDownLeft || way == kDownRight) return of[kSilvers] | of[kDragons];
  if constexpr (way == kJumpLeft || way == kJumpRight) return of[kKnights];
}

/// Pieces of both sides that move any distance in a direction as their owner sees it.
template <int way>
constexpr Bitboard sliders(const Board& board) {
  const auto& of = board.movers;
  if constexpr (way == kUp) return of[kLances] | of[kRooks] | of[kDragons];
  if constexpr (way == kLeft || way == kRight || way == kDown) return of[kRooks] | of[kDragons];
  if constexpr (way == kUpLeft || way == kUpRight || way == kDownLeft || way == kDownRight) {
    return of[kBishops] | of[kHorses];
  }
  return 0;
}

/// Calls visit.template operator()<i>() for i from 0 to `number` - 1.
template <int number, class Visit>
constexpr void for_each_index(Visit visit) {
  [&]<std::size_t... index>(std::index_sequence<index...>) {
    (visit.template operator()<static_cast<int>(index)>(), ...);
  }(std::make_index_sequence<number>());
}

/// All squares that a side attacks, its own pieces' included; `empty` tells what stops a slider.
template <int side>
constexpr Bitboard attacked_by(const Board& board, Bitboard empty) {
  const Bitboard own = board.sides[side];
  Bitboard attacked = 0;
  for_each_index<kNumWays>([&]<int way>() {
    constexpr int direction = kDirectionOf<side, way>;
    Bitboard pieces = steppers<way>(board);
    if constexpr (way < kNumLines) {
      pieces |= board.movers[kKings];
      if (const Bitboard sliding = sliders<way>(board) & own) {
        attacked |= slide<direction>(sliding, empty);
      }
    }
    attacked |= shift<direction>(pieces & own);
  });
  return attacked;
}

inline Bitboard attacked_by(const Board& board, int side, Bitboard empty) {
  return side == kBlack ? attacked_by<kBlack>(board, empty) : attacked_by<kWhite>(board, empty);
}

/// What keeps the side to move from moving as it likes, worked out once per position.
struct CheckInfo {
  Bitboard checkers = 0;
  /// Squares where a move of another piece than the king leaves no check standing: all without a
  /// check, capture or interposition in a single check, none in a double check.
  Bitboard evasion_mask = kBoard;
  Bitboard pinned = 0;
  /// The pinned pieces by the axis on which they may move.
  std::array<Bitboard, 4> pinned_on{};
};

template <int side>
constexpr CheckInfo find_checks(const Board& board) {
  constexpr int enemy = other(side);
  const Bitboard theirs = board.sides[enemy], occupied = board.occupied();
  const Bitboard king = board.movers[kKings] & board.sides[side];
  const int square = lowest(king);
  CheckInfo checks;
  Bitboard between = 0;
  for_each_index<kNumWays>([&]<int way>() {
    // From the king towards those that attack it along `way`.
    constexpr int towards = kOpposite[kDirectionOf<enemy, way>];
    checks.checkers |= shift<towards>(king) & steppers<way>(board) & theirs;
    if constexpr (way < kNumLines) {
      const Bitboard ray = kRays[towards][square];
      const Bitboard snipers = ray & sliders<way>(board) & theirs;
      if (!snipers) return;
      const int sniper = nearest(snipers, towards);
      const Bitboard path = ray & ~kRays[towards][sniper] & ~bit(sniper);
      const Bitboard blockers = path & occupied;
      if (!blockers) {
        checks.checkers |= bit(sniper);
        between |= path;
      } else if (!(blockers & (blockers - 1)) && (blockers & board.sides[side])) {
        checks.pinned |= blockers;
        checks.pinned_on[kAxis[towards]] |= blockers;
      }
    }
  });
  if (checks.checkers) {
    const bool twice = (checks.checkers & (checks.checkers - 1)) != 0;
    checks.evasion_mask = twice ? Bitboard{0} : checks.checkers | between;
  }
  return checks;
}

inline CheckInfo find_checks(const Board& board) {
  return board.side == kBlack ? find_checks<kBlack>(board) : find_checks<kWhite>(board);
}

}  // namespace zerogames::shogi
