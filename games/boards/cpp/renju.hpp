#pragma once

// What Black may not do in Renju, by the definitions of the Renju International Federation (rules
// of 2008, sections 2 and 9).

#include "stones.hpp"

namespace zerogames::boards {

/// Judges a black stone on an empty cell of a board.
///
/// - Five: exactly five in a row. It wins, and nothing is forbidden that makes one.
/// - Overline: six or more.
/// - Four: a row that one further stone makes a five. A straight four has two such cells.
/// - Three: a row that one further stone makes a straight four, if that stone makes no five and is
///   itself not forbidden. This is the recursion: whether a three is one depends on a position with
///   a stone more.
///
/// Forbidden are an overline, two fours and two threes.
class RenjuJudge {
 public:
  static bool is_forbidden(const Stones& board, int cell) {
    if (!near_enough(board, cell)) return false;
    if (makes_five(board, cell)) return false;
    if (board.longest_row(cell, kBlack) > 5) return true;
    Stones after = board;
    after.add(cell, kBlack);
    int fours = 0, threes = 0;
    for (const auto direction : Stones::kDirections) {
      const int here = num_fours(after, cell, direction);
      fours += here;
      if (here == 0 && fours < 2) threes += is_three(after, cell, direction);
    }
    return fours >= 2 || threes >= 2;
  }

 private:
  static constexpr int kBlack = 0;
  using Direction = Stones::Direction;

  /// Whatever is forbidden needs four black stones around, or more.
  static bool near_enough(const Stones& board, int cell) {
    int stones = 0;
    for (const auto direction : Stones::kDirections) {
      for (int i = -5; i <= 5; ++i) {
        stones += i != 0 && board.is_stone(board.step(cell, direction, i), kBlack);
      }
    }
    return stones >= 4;
  }

  static bool is_free(const Stones& board, int cell) { return cell >= 0 && board.is_empty(cell); }

  /// The stone at `other`, not there yet, would make a five with that at `cell`.
  static bool makes_five(const Stones& board, int other, Direction direction) {
    return is_free(board, other) && board.row_length(other, kBlack, direction) == 5;
  }

  static bool makes_five(const Stones& board, int cell) {
    for (const auto direction : Stones::kDirections) {
      if (board.row_length(cell, kBlack, direction) == 5) return true;
    }
    return false;
  }

  /// Fours of the black stone at `cell` in one direction: none, one, or two that share stones.
  static int num_fours(const Stones& board, int cell, Direction direction) {
    int first = 0, found = 0;
    for (const int sign : {-1, 1}) {
      int i = sign;
      while (board.is_stone(board.step(cell, direction, i), kBlack)) i += sign;
      if (!makes_five(board, board.step(cell, direction, i), direction)) continue;
      // The two ends of four stones in a row are one straight four.
      if (found == 1 && i - first == 5) return 1;
      first = i;
      ++found;
    }
    return found;
  }

  /// Whether the stone at `cell` belongs to a straight four in a direction.
  static bool is_straight_four(const Stones& board, int cell, Direction direction) {
    int low = -1, high = 1;
    while (board.is_stone(board.step(cell, direction, low), kBlack)) --low;
    while (board.is_stone(board.step(cell, direction, high), kBlack)) ++high;
    return high - low == 5 && makes_five(board, board.step(cell, direction, low), direction) &&
           makes_five(board, board.step(cell, direction, high), direction);
  }

  /// Whether the black stone at `cell` belongs to a three in a direction.
  static bool is_three(const Stones& board, int cell, Direction direction) {
    for (const int sign : {-1, 1}) {
      int i = sign;
      while (board.is_stone(board.step(cell, direction, i), kBlack)) i += sign;
      const int next = board.step(cell, direction, i);
      if (!is_free(board, next) || makes_five(board, next)) continue;
      Stones after = board;
      after.add(next, kBlack);
      if (is_straight_four(after, cell, direction) && !is_forbidden(board, next)) return true;
    }
    return false;
  }
};

}  // namespace zerogames::boards
