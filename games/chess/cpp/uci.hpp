#pragma once

#include "fen.hpp"

namespace zerogames::chess {

namespace detail {

inline constexpr std::string_view kPromotionLetters = " nbrq";

/// A square of the mover's view as it is called on the board, and back.
constexpr int board_square(const Board& board, int square) {
  return board.black_to_move ? flip_square(square) : square;
}

}  // namespace detail

/// Writes a legal move: castling is e1g1, in Chess960 the king takes its rook.
inline std::string format_uci(const Board& board, Move move) {
  int to = move.to;
  if (!board.chess960 && (board.ours & bit(to))) to = castling_target(move.from, to).king;
  std::string text = detail::square_name(detail::board_square(board, move.from)) +
                     detail::square_name(detail::board_square(board, to));
  if (move.promotion != Promotion::kNone) {
    text += detail::kPromotionLetters[static_cast<std::size_t>(move.promotion)];
  }
  return text;
}

/// Reads a legal move; castling may be written either way outside Chess960.
inline Move parse_uci(const Board& board, const CheckInfo& checks, std::string_view text) {
  const auto square = [&](std::size_t at) {
    const char file = text[at], rank = text[at + 1];
    if (file < 'a' || file > 'h' || rank < '1' || rank > '8') {
      throw Error(detail::quote(text) + " is not a move; write e.g. e2e4, e7e8q or e1g1");
    }
    return detail::board_square(board, square_at(file - 'a', rank - '1'));
  };
  if (text.size() != 4 && text.size() != 5) {
    throw Error(detail::quote(text) + " is not a move; write e.g. e2e4, e7e8q or e1g1");
  }
  Move move{static_cast<std::uint8_t>(square(0)), static_cast<std::uint8_t>(square(2))};
  if (text.size() == 5) {
    const auto letter = detail::kPromotionLetters.find(text[4], 1);
    if (letter == std::string_view::npos) {
      throw Error(detail::quote(text) + ": a pawn promotes to q, r, b or n");
    }
    move.promotion = static_cast<Promotion>(letter);
  }
  const bool two_steps = move.from == 4 && (move.to == 6 || move.to == 2);
  if (!board.chess960 && two_steps && checks.king == 4) {
    // Outside Chess960 the rook stands in the corner.
    move.to = move.to == 6 ? 7 : 0;
    if (!(board.castling & bit(move.to))) {
      throw Error(detail::quote(text) + " is not legal here: no right to castle there");
    }
  }
  if (is_legal(board, checks, move)) return move;
  const bool promotes = (bit(move.from) & kRank7 & board.pawns & board.ours) != 0;
  if (promotes && move.promotion == Promotion::kNone) {
    throw Error(detail::quote(text) + " is not legal here: say what the pawn becomes, e.g. " +
                std::string(text.substr(0, 4)) + "q");
  }
  throw Error(detail::quote(text) + " is not legal here");
}

}  // namespace zerogames::chess
