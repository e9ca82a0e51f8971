#pragma once

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "moves.hpp"
#include "zerogames/error.hpp"

namespace zerogames::chess {

inline constexpr std::string_view kStartFen =
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";

namespace detail {

/// More would be a game under no rule: the 75-move rule ends it.
inline constexpr unsigned kMaxHalfmoves = 150;
inline constexpr unsigned kMaxFullmove = 100'000;

[[noreturn]] inline void refuse(const std::string& reason) { throw Error("FEN: " + reason); }

inline std::string quote(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text.substr(0, 40)) quoted += c >= ' ' && c <= '~' ? c : '?';
  return quoted + (text.size() > 40 ? "...'" : "'");
}

inline std::string square_name(int square) {
  return {static_cast<char>('a' + file_of(square)), static_cast<char>('1' + rank_of(square))};
}

inline std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  while (true) {
    const auto first = text.find_first_not_of(" \t\r\n");
    if (first == text.npos) return words;
    text.remove_prefix(first);
    const auto length = std::min(text.find_first_of(" \t\r\n"), text.size());
    words.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
}

/// Adds a piece by its letter in White's view; false if it is not a letter of a piece.
inline bool put_piece(Board& board, char letter, int square) {
  const Bitboard here = bit(square);
  switch (letter | 0x20) {
    case 'p':
      board.pawns |= here;
      break;
    case 'n':
      board.knights |= here;
      break;
    case 'b':
      board.diagonals |= here;
      break;
    case 'r':
      board.straights |= here;
      break;
    case 'q':
      board.diagonals |= here, board.straights |= here;
      break;
    case 'k':
      board.kings |= here;
      break;
    default:
      return false;
  }
  (letter & 0x20 ? board.theirs : board.ours) |= here;
  return true;
}

inline void read_pieces(Board& board, std::string_view text) {
  int rank = 7, file = 0;
  bool after_digit = false;
  for (const char letter : text) {
    if (letter == '/') {
      if (file != 8) refuse("rank " + std::to_string(rank + 1) + " has not 8 squares");
      if (rank == 0) refuse("the board has more than 8 ranks");
      --rank, file = 0, after_digit = false;
    } else if (letter >= '1' && letter <= '8') {
      if (after_digit) refuse("two numbers side by side on rank " + std::to_string(rank + 1));
      file += letter - '0', after_digit = true;
    } else {
      if (file < 8 && !put_piece(board, letter, square_at(file, rank))) {
        refuse(quote({&letter, 1}) + " is not a piece; write PNBRQK, pnbrqk, 1 to 8 and /");
      }
      ++file, after_digit = false;
    }
    if (file > 8) refuse("rank " + std::to_string(rank + 1) + " has more than 8 squares");
  }
  if (rank != 0 || file != 8) refuse("the board has not 8 ranks of 8 squares");
}

/// Whether a side has more promoted pieces than pawns that are missing, so that no game leads
/// there. What is left has at most 218 moves.
inline bool has_too_many_promoted(const Board& board, Bitboard side) {
  const auto extra = [&](Bitboard pieces, int first) {
    return std::max(0, count(side & pieces) - first);
  };
  const int promoted = extra(board.knights, 2) + extra(board.bishops(), 2) +
                       extra(board.rooks(), 2) + extra(board.queens(), 1);
  return promoted > 8 - count(side & board.pawns);
}

inline void check_side(const Board& board, Bitboard side, const std::string& name) {
  if (count(side & board.kings) != 1) {
    refuse(name + " has " + std::to_string(count(side & board.kings)) + " kings, must be one");
  }
  if (count(side) > 16) refuse(name + " has more than 16 pieces");
  if (count(side & board.pawns) > 8) refuse(name + " has more than 8 pawns");
  if (has_too_many_promoted(board, side)) {
    refuse(name + " has too many pieces for its missing pawns");
  }
}

/// One letter of the castling field: KQkq (the outermost rook) or the rook's file, in White's view.
inline void read_castling_right(Board& board, char letter) {
  const bool white = letter >= 'A' && letter <= 'Z';
  const Bitboard side = white ? board.ours : board.theirs, rank = white ? kRank1 : kRank8;
  const std::string impossible = "castling right " + quote({&letter, 1}) + " is impossible: ";
  const Bitboard king = side & board.kings & rank;
  if (!king) refuse(impossible + "the king is not on its first rank");
  const Bitboard rooks = side & board.rooks() & rank;
  const Bitboard east = rooks & ~(king | (king - 1)), west = rooks & (king - 1);
  Bitboard rook = 0;
  const char upper = static_cast<char>(letter & ~0x20);
  if (upper == 'K') {
    if (east) rook = bit(63 - std::countl_zero(east));
  } else if (upper == 'Q') {
    if (west) rook = bit(lowest(west));
  } else if (upper >= 'A' && upper <= 'H') {
    rook = rooks & (kFileA << (upper - 'A'));
  } else {
    refuse(quote({&letter, 1}) + " is not a castling right; write KQkq, a file letter or -");
  }
  if (!rook) refuse(impossible + "there is no such rook");
  const bool usual = king & (kFileA << 4) && rook & (kFileA | kFileH);
  if (!board.chess960 && !usual) {
    refuse(impossible + "king or rook is not on its usual square (a Chess960 position?)");
  }
  if (board.castling & rook) refuse("castling right " + quote({&letter, 1}) + " is given twice");
  if (board.castling & (rook > king ? east : west)) {
    refuse(impossible + "another rook on that side has it");
  }
  board.castling |= rook;
}

inline void read_en_passant(Board& board, std::string_view text) {
  if (text == "-") return;
  if (text.size() != 2 || text[0] < 'a' || text[0] > 'h' || text[1] < '1' || text[1] > '8') {
    refuse(quote(text) + " is not an en-passant square; write a square or -");
  }
  const int absolute = square_at(text[0] - 'a', text[1] - '1');
  // The board is already in the mover's view.
  const Bitboard square = bit(board.black_to_move ? flip_square(absolute) : absolute);
  const std::string impossible = "en-passant square " + quote(text) + " is impossible: ";
  if (!(square & kRank6)) refuse(impossible + "it is not on the third rank of the last mover");
  if ((square | north(square)) & board.occupied()) {
    refuse(impossible + "the pawn's way is not empty");
  }
  if (!(south(square) & board.theirs & board.pawns)) {
    refuse(impossible + "no pawn has just passed it");
  }
  board.en_passant = square;
}

inline unsigned read_counter(std::string_view text, const char* name, unsigned least,
                             unsigned most) {
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    refuse(std::string(name) + " " + quote(text) + " is not a number from " +
           std::to_string(least) + " to " + std::to_string(most));
  }
  return value;
}

/// KQkq where that names the rook, its file letter where another rook stands further out (X-FEN).
inline void write_castling(const Board& white_view, bool black, std::string& text) {
  const Bitboard rank = black ? kRank8 : kRank1;
  const Bitboard side = black ? white_view.theirs : white_view.ours;
  const Bitboard king = side & white_view.kings;
  const Bitboard rooks = side & white_view.rooks() & rank;
  const auto write = [&](Bitboard rook, Bitboard further_out, char letter) {
    if (further_out) letter = static_cast<char>('A' + file_of(lowest(rook)));
    text += static_cast<char>(black ? letter | 0x20 : letter);
  };
  const Bitboard rights = white_view.castling & rank;
  if (const Bitboard rook = rights & ~(king - 1)) write(rook, rooks & ~(rook | (rook - 1)), 'K');
  if (const Bitboard rook = rights & (king - 1)) write(rook, rooks & (rook - 1), 'Q');
}

}  // namespace detail

/// Reads a FEN with four or six fields. Castling may be written KQkq, as X-FEN or as Shredder-FEN;
/// without `chess960` only for kings and rooks on their usual squares. Throws Error with the
/// reason for anything that cannot be a position.
inline Board parse_fen(std::string_view text, bool chess960 = false) {
  using namespace detail;
  const auto fields = split_words(text);
  if (fields.size() != 4 && fields.size() != 6) {
    refuse(std::to_string(fields.size()) +
           " fields, must be 6: pieces, side, castling, en passant and two counters");
  }
  Board board;
  board.chess960 = chess960;
  read_pieces(board, fields[0]);
  check_side(board, board.ours, "White");
  check_side(board, board.theirs, "Black");
  if (board.pawns & (kRank1 | kRank8)) refuse("a pawn stands on rank 1 or 8");
  if (fields[1] != "w" && fields[1] != "b") {
    refuse("side to move " + quote(fields[1]) + " is not w or b");
  }
  if (fields[2] != "-") {
    for (const char letter : fields[2]) read_castling_right(board, letter);
  }
  board.black_to_move = fields[1] == "b";
  Board other = board;
  if (board.black_to_move) {
    board.turn();
    board.castling = flip(board.castling);
  } else {
    other.turn();
  }
  const bool kings_touch =
      kKingAttacks[lowest(board.ours & board.kings)] & board.theirs & board.kings;
  if (kings_touch || find_checks(other).checkers) refuse("the side not to move is in check");
  if (count(find_checks(board).checkers) > 2) refuse("more than two pieces give check");
  read_en_passant(board, fields[3]);
  if (fields.size() == 6) {
    board.halfmoves =
        static_cast<std::uint16_t>(read_counter(fields[4], "halfmove clock", 0, kMaxHalfmoves));
    board.fullmove = read_counter(fields[5], "move number", 1, kMaxFullmove);
  }
  return board;
}

inline std::string format_fen(const Board& board) {
  Board white_view = board;
  if (board.black_to_move) {
    white_view.turn();
    white_view.castling = flip(board.castling);
  }
  std::string text;
  for (int rank = 7; rank >= 0; --rank) {
    int empty = 0;
    for (int file = 0; file < 8; ++file) {
      const Bitboard here = bit(square_at(file, rank));
      if (!(white_view.occupied() & here)) {
        ++empty;
        continue;
      }
      if (empty) text += static_cast<char>('0' + empty);
      empty = 0;
      char letter = 'k';
      if (white_view.pawns & here) letter = 'p';
      if (white_view.knights & here) letter = 'n';
      if (white_view.bishops() & here) letter = 'b';
      if (white_view.rooks() & here) letter = 'r';
      if (white_view.queens() & here) letter = 'q';
      text += static_cast<char>(white_view.ours & here ? letter & ~0x20 : letter);
    }
    if (empty) text += static_cast<char>('0' + empty);
    text += rank ? '/' : ' ';
  }
  text += board.black_to_move ? "b " : "w ";
  if (!board.castling) text += '-';
  detail::write_castling(white_view, false, text);
  detail::write_castling(white_view, true, text);
  text += ' ';
  text += white_view.en_passant ? detail::square_name(lowest(white_view.en_passant)) : "-";
  return text + ' ' + std::to_string(board.halfmoves) + ' ' + std::to_string(board.fullmove);
}

}  // namespace zerogames::chess
