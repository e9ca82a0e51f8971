#pragma once

#include "sfen.hpp"

namespace zerogames::shogi {

namespace detail {

/// A square as USI names it: 9a is the upper left corner.
inline std::string square_name(int square) {
  return {static_cast<char>('9' - column_of(square)), static_cast<char>('a' + row_of(square))};
}

[[noreturn]] inline void refuse_move(std::string_view text) {
  throw Error(quote(text) + " is not a move; write e.g. 7g7f, 8h2b+ or P*5e");
}

inline int read_square(std::string_view text, std::size_t at) {
  const char file = text[at], rank = text[at + 1];
  if (file < '1' || file > '9' || rank < 'a' || rank > 'i') refuse_move(text);
  return kSide * (rank - 'a') + ('9' - file);
}

}  // namespace detail

/// Writes a move: 7g7f, 8h2b+ with promotion, P*5e for a drop.
inline std::string format_usi(Move move) {
  const std::string to = detail::square_name(move.to);
  if (move.is_drop()) return std::string(1, kKindLetters[move.drop_kind()]) + '*' + to;
  return detail::square_name(move.from) + to + (move.promotes ? "+" : "");
}

/// Reads a legal move; throws Error with what is wrong.
inline Move parse_usi(const Board& board, const CheckInfo& checks, std::string_view text) {
  using namespace detail;
  if (text.size() != 4 && text.size() != 5) refuse_move(text);
  Move move;
  move.to = static_cast<std::uint8_t>(read_square(text, 2));
  if (text[1] == '*') {
    const auto kind = kKindLetters.find(text[0]);
    if (text.size() != 4 || kind >= kNumHandKinds) refuse_move(text);
    move.from = static_cast<std::uint8_t>(kSquares + kind);
  } else {
    move.from = static_cast<std::uint8_t>(read_square(text, 0));
    if (text.size() == 5 && text[4] != '+') refuse_move(text);
    move.promotes = text.size() == 5;
  }
  if (is_legal(board, checks, move)) return move;
  Move promoting = move;
  promoting.promotes = true;
  if (!move.is_drop() && !move.promotes && is_legal(board, checks, promoting)) {
    throw Error(quote(text) + " is not legal here: the piece must promote, write " +
                std::string(text) + "+");
  }
  throw Error(quote(text) + " is not legal here");
}

}  // namespace zerogames::shogi
