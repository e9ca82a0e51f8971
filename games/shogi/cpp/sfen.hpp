#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "moves.hpp"
#include "zerogames/error.hpp"

namespace zerogames::shogi {

inline constexpr std::string_view kStartSfen =
    "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1";
/// Letters of the kinds as Black's pieces have them; a promoted piece has + before it.
inline constexpr std::string_view kKindLetters = "PLNSGBRK";

namespace detail {

inline constexpr unsigned kMaxMoveNumber = 100'000;

[[noreturn]] inline void refuse(const std::string& reason) { throw Error("SFEN: " + reason); }

inline std::string quote(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text.substr(0, 40)) quoted += c >= ' ' && c <= '~' ? c : '?';
  return quoted + (text.size() > 40 ? "...'" : "'");
}

inline std::vector<std::string_view> split_words(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  std::vector<std::string_view> words;
  while (true) {
    const auto first = text.find_first_not_of(blanks);
    if (first == text.npos) return words;
    text.remove_prefix(first);
    const auto length = std::min(text.find_first_of(blanks), text.size());
    words.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
}

/// The kind of a letter of either case, or -1.
constexpr int kind_of_letter(char letter) {
  const bool small = letter >= 'a' && letter <= 'z';
  const auto at = kKindLetters.find(small ? static_cast<char>(letter - 'a' + 'A') : letter);
  return at == kKindLetters.npos ? -1 : static_cast<int>(at);
}
constexpr int side_of_letter(char letter) { return letter >= 'a' ? kWhite : kBlack; }
constexpr char letter_of(int side, int kind) {
  const char letter = kKindLetters[unpromoted(kind)];
  return side == kBlack ? letter : static_cast<char>(letter - 'A' + 'a');
}

inline void read_squares(Board& board, std::string_view text) {
  int row = 0, column = 0;
  bool promoted = false, after_digit = false;
  const auto rank = [&] { return std::string("rank ") + static_cast<char>('a' + row); };
  for (const char letter : text) {
    if (promoted && kind_of_letter(letter) < 0) refuse("+ is not before a piece");
    if (letter == '+') {
      promoted = true;
    } else if (letter == '/') {
      if (column != kSide) refuse(rank() + " has not 9 squares");
      if (row == kSide - 1) refuse("the board has more than 9 ranks");
      ++row, column = 0, after_digit = false;
    } else if (letter >= '1' && letter <= '9') {
      if (after_digit) refuse("two numbers side by side on " + rank());
      column += letter - '0', after_digit = true;
    } else {
      const int kind = kind_of_letter(letter);
      if (kind < 0) {
        refuse(quote({&letter, 1}) + " is not a piece; write PLNSGBRK, plnsgbrk, +, 1 to 9 and /");
      }
      if (promoted && !can_promote(kind)) refuse(quote({&letter, 1}) + " cannot be promoted");
      if (column < kSide) {
        board.put(kSide * row + column,
                  piece_of(side_of_letter(letter), kind + (promoted ? kPromoted : 0)));
      }
      ++column, promoted = after_digit = false;
    }
    if (column > kSide) refuse(rank() + " has more than 9 squares");
  }
  if (promoted) refuse("+ is not before a piece");
  if (row != kSide - 1 || column != kSide) refuse("the board has not 9 ranks of 9 squares");
}

inline void read_hands(Board& board, std::string_view text) {
  if (text == "-") return;
  int number = 0;
  for (const char letter : text) {
    if (letter >= '0' && letter <= '9') {
      if (number == 0 && letter == '0') refuse("a number of pieces in hand begins with 0");
      number = 10 * number + letter - '0';
      if (number > kSetSize[kPawn]) refuse("there are too many pieces of a kind in hand");
      continue;
    }
    const int kind = kind_of_letter(letter);
    if (kind < 0 || kind == kKing) {
      refuse(quote({&letter, 1}) + " is not a piece in hand; write e.g. 2P or -");
    }
    const int side = side_of_letter(letter);
    if (board.hands[side][kind] != 0) refuse(quote({&letter, 1}) + " is in hand twice");
    board.set_hand(side, kind, number == 0 ? 1 : number);
    number = 0;
  }
  if (text.empty() || number != 0) refuse("hands " + quote(text) + " end with a number");
}

inline void check_pieces(const Board& board) {
  std::array<int, 8> numbers{};
  for (const auto& hand : board.hands) {
    for (int kind = 0; kind < kNumHandKinds; ++kind) numbers[kind] += hand[kind];
  }
  std::array<std::array<int, kSide>, 2> pawns{};
  for (int square = 0; square < kSquares; ++square) {
    const Piece piece = board.squares[square];
    if (piece == kEmpty) continue;
    const int kind = kind_of(piece), side = side_of(piece);
    ++numbers[unpromoted(kind)];
    if (dead_squares(side, kind) & bit(square)) {
      refuse(quote(std::string(1, letter_of(side, kind))) + " stands where it could never move");
    }
    if (kind == kPawn && ++pawns[side][column_of(square)] == 2) {
      refuse(std::string(side == kBlack ? "Black" : "White") + " has two pawns on file " +
             std::to_string(kSide - column_of(square)));
    }
  }
  for (const int side : {kBlack, kWhite}) {
    const int kings = count(board.movers[kKings] & board.sides[side]);
    if (kings != 1) {
      refuse(std::string(side == kBlack ? "Black" : "White") + " has " + std::to_string(kings) +
             " kings, must be one");
    }
  }
  for (int kind = 0; kind < kNumHandKinds; ++kind) {
    if (numbers[kind] > kSetSize[kind]) {
      refuse("there are " + std::to_string(numbers[kind]) + " pieces " +
             quote(std::string(1, kKindLetters[kind])) + ", more than " +
             std::to_string(kSetSize[kind]));
    }
  }
}

}  // namespace detail

/// Reads an SFEN with three or four fields: squares, side to move, hands and the move's number.
/// Throws Error with the reason for anything that cannot be a position.
inline Board parse_sfen(std::string_view text) {
  using namespace detail;
  const auto fields = split_words(text);
  if (fields.size() != 3 && fields.size() != 4) {
    refuse(std::to_string(fields.size()) +
           " fields, must be 4: squares, side, hands and the move's number");
  }
  Board board;
  read_squares(board, fields[0]);
  if (fields[1] != "b" && fields[1] != "w") {
    refuse("side to move " + quote(fields[1]) + " is not b or w");
  }
  read_hands(board, fields[2]);
  check_pieces(board);
  if (fields[1] == "w") board.pass_turn();
  if (fields.size() == 4) {
    const std::string_view number = fields[3];
    const auto [end, error] =
        std::from_chars(number.data(), number.data() + number.size(), board.move_number);
    if (error != std::errc() || end != number.data() + number.size() || board.move_number < 1 ||
        board.move_number > kMaxMoveNumber) {
      refuse("move number " + quote(number) + " is not a number from 1 to " +
             std::to_string(kMaxMoveNumber));
    }
  }
  if (attacked_by(board, board.side, board.empty()) & bit(board.king_square(other(board.side)))) {
    refuse("the side not to move is in check");
  }
  return board;
}

inline std::string format_sfen(const Board& board) {
  std::string text;
  for (int row = 0; row < kSide; ++row) {
    int empty = 0;
    for (int column = 0; column < kSide; ++column) {
      const Piece piece = board.squares[kSide * row + column];
      if (piece == kEmpty) {
        ++empty;
        continue;
      }
      if (empty) text += static_cast<char>('0' + empty);
      empty = 0;
      if (is_promoted(kind_of(piece))) text += '+';
      text += detail::letter_of(side_of(piece), kind_of(piece));
    }
    if (empty) text += static_cast<char>('0' + empty);
    text += row < kSide - 1 ? '/' : ' ';
  }
  text += board.side == kBlack ? "b " : "w ";
  std::string hands;
  for (const int side : {kBlack, kWhite}) {
    for (const int kind : {kRook, kBishop, kGold, kSilver, kKnight, kLance, kPawn}) {
      const int number = board.hands[side][kind];
      if (number == 0) continue;
      if (number > 1) hands += std::to_string(number);
      hands += detail::letter_of(side, kind);
    }
  }
  return text + (hands.empty() ? "-" : hands) + ' ' + std::to_string(board.move_number);
}

}  // namespace zerogames::shogi
