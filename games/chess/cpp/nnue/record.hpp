#pragma once

// Positions with their labels in 40 bytes; the twin of zerogames_chess/nnue/records.py.

#include "../fen.hpp"

namespace zerogames::chess::nnue {

struct Record {
  /// Four bits a square, a1 in the low half of the first byte: 0 empty, 1 + role * 2 + black,
  /// 13 a pawn that may be taken en passant, 14 and 15 a white and a black rook that may castle.
  std::array<std::uint8_t, 32> board;
  std::uint8_t black_to_move;
  std::int8_t result;  ///< 1, 0, -1 for the side to move.
  std::int16_t score;  ///< For the side to move, in the unit that the file's header names.
  std::uint16_t ply;
  std::uint16_t move;  ///< Best move: from, to << 6, promotion << 12; 0 if unknown.
};
static_assert(sizeof(Record) == 40);

inline constexpr int kEnPassantPawn = 13, kCastlingRook = 14;

/// Throws Error for what cannot be a position.
inline Board unpack(const Record& record) {
  const auto refuse = [](const char* reason) -> void {
    throw Error(std::string("record: ") + reason + "; the file is damaged");
  };
  Board board;  // In White's view first.
  Bitboard passed = 0;
  for (int square = 0; square < 64; ++square) {
    const int code = record.board[square / 2] >> (square % 2 * 4) & 15;
    if (code == 0) continue;
    const Bitboard here = bit(square);
    int role = (code - 1) / 2;
    bool black = (code - 1) % 2;
    if (code == kEnPassantPawn) {
      role = 0, black = !record.black_to_move;
      if (passed) refuse("two pawns have just passed");
      passed = black ? north(here) : south(here);
      if (!(here & (black ? kRank5 : kRank1 << 24))) refuse("a pawn cannot have passed there");
    } else if (code >= kCastlingRook) {
      role = 3, black = code - kCastlingRook;
      if (!(here & (black ? kRank8 : kRank1))) refuse("a rook cannot castle from there");
      board.castling |= here;
    }
    chess::detail::put_piece(board, "PpNnBbRrQqKk"[role * 2 + black], square);
  }
  if (count(board.ours & board.kings) != 1 || count(board.theirs & board.kings) != 1) {
    refuse("each side must have one king");
  }
  if (count(board.ours) > 16 || count(board.theirs) > 16) refuse("a side has more than 16 pieces");
  for (const Bitboard side : {board.ours, board.theirs}) {
    if (chess::detail::has_too_many_promoted(board, side)) {
      refuse("a side has too many pieces for its missing pawns");
    }
  }
  if (board.pawns & (kRank1 | kRank8)) refuse("a pawn stands on rank 1 or 8");
  if (record.black_to_move > 1) refuse("the side to move is neither");
  for (const bool black : {false, true}) {
    const Bitboard rank = black ? kRank8 : kRank1;
    const Bitboard king = board.kings & (black ? board.theirs : board.ours);
    const Bitboard rooks = board.castling & rank;
    if (rooks && !(king & rank)) refuse("a king cannot castle from there");
    if (count(rooks & (king - 1)) > 1 || count(rooks & ~(king | (king - 1))) > 1) {
      refuse("two rooks of one side may castle to the same side");
    }
  }
  board.en_passant = passed;
  board.black_to_move = record.black_to_move;
  board.fullmove = 1 + record.ply / 2;
  if (board.black_to_move) {
    board.turn();
    board.castling = flip(board.castling);
  }
  return board;
}

/// The board part of a record; the rest is zero.
inline Record pack(const Board& board) {
  Record record{};
  Board view = board;
  if (board.black_to_move) {
    view.turn();
    view.castling = flip(board.castling);
  }
  for (Bitboard rest = view.occupied(); rest;) {
    const int square = pop_lowest(rest);
    const Bitboard here = bit(square);
    const bool black = view.theirs & here;
    const int role = view.pawns & here       ? 0
                     : view.knights & here   ? 1
                     : view.bishops() & here ? 2
                     : view.rooks() & here   ? 3
                     : view.queens() & here  ? 4
                                             : 5;
    int code = 1 + role * 2 + black;
    if (view.castling & here) code = kCastlingRook + black;
    if (view.en_passant && here == (black ? south(view.en_passant) : north(view.en_passant)) &&
        role == 0 && black != board.black_to_move) {
      code = kEnPassantPawn;
    }
    record.board[square / 2] |= static_cast<std::uint8_t>(code << (square % 2 * 4));
  }
  record.black_to_move = board.black_to_move;
  record.ply =
      static_cast<std::uint16_t>(std::min(2 * (board.fullmove - 1) + board.black_to_move, 65'535U));
  return record;
}

/// The record's best move in the mover's view; false if there is none or it is not legal.
inline bool best_move(const Record& record, const Board& board, const CheckInfo& checks,
                      Move& move) {
  const auto square = [&](int absolute) {
    return static_cast<std::uint8_t>(board.black_to_move ? flip_square(absolute) : absolute);
  };
  const int promotion = record.move >> 12;
  if (record.move == 0 || promotion > 4) return false;
  move = {square(record.move & 63), square(record.move >> 6 & 63),
          static_cast<Promotion>(promotion)};
  // Records write castling as the king's two steps.
  if (move.from == checks.king && file_of(move.from) == 4 && !(board.ours & bit(move.to)) &&
      (move.to == move.from + 2 || move.to == move.from - 2)) {
    move.to = move.to > move.from ? 7 : 0;
  }
  return is_legal(board, checks, move);
}

/// The positions after the best move and after another one, chosen by `random`; false if there are
/// not two moves to choose from.
inline bool successors(const Record& record, std::uint64_t random, Record& best, Record& other) {
  const Board board = unpack(record);
  const CheckInfo checks = find_checks(board);
  Move chosen;
  if (!best_move(record, board, checks, chosen)) return false;
  std::array<Move, 256> others;
  std::size_t found = 0;
  for_each_move(board, checks, [&](Move move) {
    if (move != chosen) others[found++] = move;
  });
  if (found == 0) return false;
  Board next = board;
  next.play(chosen);
  best = pack(next);
  next = board;
  next.play(others[random % found]);
  other = pack(next);
  return true;
}

}  // namespace zerogames::chess::nnue
