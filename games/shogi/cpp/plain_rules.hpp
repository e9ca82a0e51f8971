#pragma once

// The rules as a beginner would check them: every piece walks over the squares, every move is made
// on a copy, and the king must not be taken after it. For tests of the fast rules.

#include <vector>

#include "board.hpp"

namespace zerogames::shogi::plain {

struct Step {
  int rows;
  int columns;
  bool far;
};

/// How a kind moves, forwards being row - 1.
inline std::vector<Step> steps_of(int kind) {
  const std::vector<Step> gold = {{-1, -1, false}, {-1, 0, false}, {-1, 1, false},
                                  {0, -1, false},  {0, 1, false},  {1, 0, false}};
  const std::vector<Step> rook = {{-1, 0, true}, {1, 0, true}, {0, -1, true}, {0, 1, true}};
  const std::vector<Step> bishop = {{-1, -1, true}, {-1, 1, true}, {1, -1, true}, {1, 1, true}};
  const auto with_steps = [](std::vector<Step> lines, const std::vector<Step>& others) {
    for (const Step& step : others) lines.push_back({step.rows, step.columns, false});
    return lines;
  };
  switch (kind) {
    case kPawn:
      return {{-1, 0, false}};
    case kLance:
      return {{-1, 0, true}};
    case kKnight:
      return {{-2, -1, false}, {-2, 1, false}};
    case kSilver:
      return {{-1, -1, false}, {-1, 0, false}, {-1, 1, false}, {1, -1, false}, {1, 1, false}};
    case kBishop:
      return bishop;
    case kRook:
      return rook;
    case kKing:
      return with_steps(with_steps({}, rook), bishop);
    case kHorse:
      return with_steps(bishop, rook);
    case kDragon:
      return with_steps(rook, bishop);
    default:
      return gold;
  }
}

/// Calls visit(from, to) for every square that a side's pieces reach, its own pieces' apart.
template <class Visit>
void for_each_reach(const Board& board, int side, Visit visit) {
  for (int from = 0; from < kSquares; ++from) {
    const Piece piece = board.squares[from];
    if (piece == kEmpty || side_of(piece) != side) continue;
    for (const Step& step : steps_of(kind_of(piece))) {
      const int forwards = side == kBlack ? 1 : -1;
      int row = row_of(from), column = column_of(from);
      do {
        row += forwards * step.rows, column += step.columns;
        if (row < 0 || row >= kSide || column < 0 || column >= kSide) break;
        const Piece there = board.squares[kSide * row + column];
        if (there != kEmpty && side_of(there) == side) break;
        visit(from, kSide * row + column);
        if (there != kEmpty) break;
      } while (step.far);
    }
  }
}

inline bool king_can_be_taken(const Board& board, int owner) {
  bool taken = false;
  for_each_reach(board, other(owner), [&](int, int to) {
    taken = taken || board.squares[to] == piece_of(owner, kKing);
  });
  return taken;
}

/// Rows to the far edge, 0 on the last row.
inline int rows_left(int side, int square) {
  return side == kBlack ? row_of(square) : kSide - 1 - row_of(square);
}
inline bool can_stand(int side, int kind, int square) {
  if (kind == kPawn || kind == kLance) return rows_left(side, square) >= 1;
  return kind != kKnight || rows_left(side, square) >= 2;
}

inline std::vector<Move> legal_moves(const Board& board);

inline bool is_allowed(const Board& board, Move move) {
  Board next = board;
  next.play(move);
  if (king_can_be_taken(next, board.side)) return false;
  const bool pawn_drop = move.is_drop() && move.drop_kind() == kPawn;
  const bool mates = pawn_drop && king_can_be_taken(next, next.side) && legal_moves(next).empty();
  return !mates;
}

inline std::vector<Move> legal_moves(const Board& board) {
  const int side = board.side;
  std::vector<Move> moves;
  const auto add = [&](int from, int to, bool promotes) {
    const Move move{static_cast<std::uint8_t>(from), static_cast<std::uint8_t>(to), promotes};
    if (is_allowed(board, move)) moves.push_back(move);
  };
  for_each_reach(board, side, [&](int from, int to) {
    const int kind = kind_of(board.squares[from]);
    if (can_stand(side, kind, to)) add(from, to, false);
    const bool zone = rows_left(side, from) < 3 || rows_left(side, to) < 3;
    if (zone && can_promote(kind)) add(from, to, true);
  });
  for (int kind = 0; kind < kNumHandKinds; ++kind) {
    if (board.hands[side][kind] == 0) continue;
    for (int to = 0; to < kSquares; ++to) {
      bool second_pawn = false;
      for (int row = 0; row < kSide && kind == kPawn; ++row) {
        const Piece there = board.squares[kSide * row + column_of(to)];
        second_pawn = second_pawn || there == piece_of(side, kPawn);
      }
      if (board.squares[to] == kEmpty && !second_pawn && can_stand(side, kind, to)) {
        add(kSquares + kind, to, false);
      }
    }
  }
  return moves;
}

}  // namespace zerogames::shogi::plain
