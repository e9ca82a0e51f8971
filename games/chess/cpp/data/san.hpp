#pragma once

#include <cstring>
#include <string_view>

#include "../state.hpp"

namespace zerogames::chess {

namespace detail {

/// The parts of a move in standard algebraic notation, still in White's view.
struct San {
  char piece = 'P';
  int from_file = -1;
  int from_rank = -1;
  int to = -1;
  Promotion promotion = Promotion::kNone;
};

constexpr bool is_file(char c) { return c >= 'a' && c <= 'h'; }
constexpr bool is_rank(char c) { return c >= '1' && c <= '8'; }

/// False if the text is no move. Takes what python-chess takes: `Nf3`, `Ngxf3+`, `e8=Q`, `e8q`,
/// long forms such as `e2-e4` and `Ng1xf3`.
inline bool split_san(std::string_view text, San& san) {
  while (!text.empty() && std::strchr("+#!?", text.back())) text.remove_suffix(1);
  if (text.size() < 2 || text.size() > 8) return false;
  if (std::strchr("NBRQK", text.front())) {
    san.piece = text.front();
    text.remove_prefix(1);
  }
  if (text.size() >= 2 && !is_rank(text.back())) {
    constexpr std::string_view kPieces = "nbrq";
    const auto found = kPieces.find(static_cast<char>(text.back() | 0x20));
    if (found == kPieces.npos) return false;
    san.promotion = static_cast<Promotion>(found + 1);
    text.remove_suffix(1);
    if (!text.empty() && text.back() == '=') text.remove_suffix(1);
  }
  if (text.size() < 2 || !is_rank(text.back()) || !is_file(text[text.size() - 2])) return false;
  san.to = square_at(text[text.size() - 2] - 'a', text.back() - '1');
  text.remove_suffix(2);
  if (!text.empty() && (text.back() == 'x' || text.back() == '-')) text.remove_suffix(1);
  if (!text.empty() && is_file(text.front())) {
    san.from_file = text.front() - 'a';
    text.remove_prefix(1);
  }
  if (!text.empty() && is_rank(text.front())) {
    san.from_rank = text.front() - '1';
    text.remove_prefix(1);
  }
  return text.empty();
}

/// Own pieces of the kind that could reach the square if nothing were pinned.
inline Bitboard san_candidates(const Board& board, const San& san, int to) {
  const Bitboard target = bit(to), occupied = board.occupied();
  switch (san.piece) {
    case 'N':
      return kKnightAttacks[to] & board.knights & board.ours;
    case 'B':
      return bishop_attacks(to, occupied) & board.bishops() & board.ours;
    case 'R':
      return rook_attacks(to, occupied) & board.rooks() & board.ours;
    case 'Q':
      return (rook_attacks(to, occupied) | bishop_attacks(to, occupied)) & board.queens() &
             board.ours;
    case 'K':
      return kKingAttacks[to] & board.kings & board.ours;
    default: {
      const Bitboard pawns = board.pawns & board.ours;
      Bitboard from = (south_west(target) | south_east(target)) & pawns;
      // Without a file the pawn comes straight on.
      if (san.from_file < 0 || san.from_file == file_of(to)) from = 0;
      const Bitboard step = south(target);
      if (san.from_file < 0 || san.from_file == file_of(to)) {
        from |= step & pawns;
        if (!(step & occupied)) from |= south(step) & kRank2 & pawns;
      }
      return from;
    }
  }
}

inline Action castling_action(const State& state, bool king_side) {
  const Board& board = state.board();
  const int king = state.checks().king;
  const Bitboard own = board.castling & kRank1;
  const Bitboard rooks = king_side ? own & ~(bit(king) - 1) : own & (bit(king) - 1);
  if (!rooks) return kNoAction;
  const Move move{static_cast<std::uint8_t>(king), static_cast<std::uint8_t>(lowest(rooks))};
  return is_legal(board, state.checks(), move) ? action_of(move) : kNoAction;
}

}  // namespace detail

/// The action of a move in standard algebraic notation; kNoAction if it is no legal move or fits
/// more than one.
inline Action parse_san(const State& state, std::string_view text) {
  if (text.empty()) return kNoAction;
  if (text.front() == 'O' || text.front() == '0' || text.front() == 'o') {
    while (!text.empty() && std::strchr("+#!?", text.back())) text.remove_suffix(1);
    if (text == "O-O" || text == "0-0" || text == "o-o")
      return detail::castling_action(state, true);
    if (text == "O-O-O" || text == "0-0-0" || text == "o-o-o") {
      return detail::castling_action(state, false);
    }
    return kNoAction;
  }
  detail::San san;
  if (!detail::split_san(text, san)) return kNoAction;
  const Board& board = state.board();
  const bool black = board.black_to_move;
  const int to = black ? flip_square(san.to) : san.to;
  if (board.ours & bit(to)) return kNoAction;
  Bitboard from = detail::san_candidates(board, san, to);
  if (san.from_file >= 0) from &= kFileA << san.from_file;
  if (san.from_rank >= 0) from &= kRank1 << (8 * (black ? 7 - san.from_rank : san.from_rank));
  Action found = kNoAction;
  while (from) {
    const Move move{static_cast<std::uint8_t>(pop_lowest(from)), static_cast<std::uint8_t>(to),
                    san.promotion};
    if (!is_legal(board, state.checks(), move)) continue;
    if (found != kNoAction) return kNoAction;
    found = action_of(move);
  }
  return found;
}

}  // namespace zerogames::chess
