#pragma once

#include "attacks.hpp"
#include "zerogames/hash.hpp"

namespace zerogames::chess {

enum class Promotion : std::uint8_t { kNone, kKnight, kBishop, kRook, kQueen };

/// A move in the mover's view (Black's are mirrored). Castling is the king taking its own rook,
/// en passant the pawn's diagonal step.
struct Move {
  std::uint8_t from = 0;
  std::uint8_t to = 0;
  Promotion promotion = Promotion::kNone;

  constexpr bool operator==(const Move&) const = default;
};

/// The pieces on the board in the view of the side to move, whose pawns move up.
struct Placement {
  Bitboard ours = 0;
  Bitboard theirs = 0;
  Bitboard pawns = 0;
  Bitboard knights = 0;
  Bitboard diagonals = 0;  ///< Bishops and queens.
  Bitboard straights = 0;  ///< Rooks and queens.
  Bitboard kings = 0;
  /// The square a pawn of theirs just skipped, or nothing.
  Bitboard en_passant = 0;

  constexpr bool operator==(const Placement&) const = default;

  constexpr Bitboard occupied() const { return ours | theirs; }
  constexpr Bitboard bishops() const { return diagonals & ~straights; }
  constexpr Bitboard rooks() const { return straights & ~diagonals; }
  constexpr Bitboard queens() const { return diagonals & straights; }

  /// Turns the board round for the other side.
  constexpr void turn() {
    const Bitboard mine = ours;
    ours = flip(theirs);
    theirs = flip(mine);
    pawns = flip(pawns);
    knights = flip(knights);
    diagonals = flip(diagonals);
    straights = flip(straights);
    kings = flip(kings);
    en_passant = flip(en_passant);
  }
};

/// A position without its past: what move generation and FEN need. A plain value of 88 bytes.
///
/// The position is kept in the mover's view and turned after every move, so that rules, policy
/// index and encoder are written once, for a side that moves up the board.
struct Board : Placement {
  /// The rooks that may still castle: ours on rank 1, theirs on rank 8. Any file (Chess960).
  Bitboard castling = 0;
  /// Plies since the last capture or pawn move.
  std::uint16_t halfmoves = 0;
  /// Starts at 1, grows after Black's moves.
  std::uint32_t fullmove = 1;
  bool black_to_move = false;
  /// How castling is written; the rules are the same.
  bool chess960 = false;

  /// Requires a legal move.
  void play(Move move);

  /// Covers pieces, side to move, castling rights and en passant; not the counters.
  std::uint64_t key() const {
    // Castling rooks, en-passant square and side to move never share a square.
    const Bitboard rights = castling | en_passant | (black_to_move ? bit(24) : 0);
    return mix(fold(ours ^ 0x8BB84B93962EACC9ULL, theirs ^ 0x4B33A62ED433D4A3ULL) +
               fold(pawns ^ 0x4D5A2DA51DE1AA47ULL, knights ^ 0xA0761D6478BD642FULL) +
               fold(diagonals ^ 0xE7037ED1A0B428DBULL, straights ^ 0x90ED1765281C388CULL) +
               fold(kings ^ 0xC6A4A7935BD1E995ULL, rights ^ 0x9FB21C651E98DF25ULL));
  }

  /// Both halves of the 128-bit product: every input bit reaches every output bit.
  static std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
    const auto product = static_cast<unsigned __int128>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }

 private:
  void castle(Bitboard king, Bitboard rook);
};

/// The squares of king and rook after castling, in the mover's view.
struct CastlingTarget {
  int king;
  int rook;
};
constexpr CastlingTarget castling_target(int king, int rook) {
  return rook > king ? CastlingTarget{6, 5} : CastlingTarget{2, 3};
}

inline void Board::castle(Bitboard king, Bitboard rook) {
  const CastlingTarget target = castling_target(lowest(king), lowest(rook));
  // King and rook may cross or stay, so clear both before placing either.
  ours = (ours ^ king ^ rook) | bit(target.king) | bit(target.rook);
  kings = (kings ^ king) | bit(target.king);
  straights = (straights ^ rook) | bit(target.rook);
  castling &= ~kRank1;
}

inline void Board::play(Move move) {
  const Bitboard from = bit(move.from), to = bit(move.to), both = from | to;
  const Bitboard skipped = en_passant;
  en_passant = 0;
  ++halfmoves;
  if (ours & to) {
    castle(from, to);
  } else {
    if (theirs & to) {
      theirs ^= to;
      pawns &= ~to;
      knights &= ~to;
      diagonals &= ~to;
      straights &= ~to;
      halfmoves = 0;
    }
    castling &= ~both;
    ours ^= both;
    if (pawns & from) {
      halfmoves = 0;
      pawns ^= both;
      if (to == skipped) {
        pawns ^= south(to);
        theirs ^= south(to);
      } else if (to == from << 16) {
        // Recorded only if a pawn of theirs stands beside it, ready to take.
        const Bitboard beside = ((to & ~kFileA) >> 1) | ((to & ~kFileH) << 1);
        if (beside & theirs & pawns) en_passant = south(to);
      } else if (to & kRank8) {
        pawns ^= to;
        if (move.promotion == Promotion::kKnight) knights ^= to;
        if (move.promotion == Promotion::kBishop) diagonals ^= to;
        if (move.promotion == Promotion::kRook) straights ^= to;
        if (move.promotion == Promotion::kQueen) diagonals ^= to, straights ^= to;
      }
    } else if (kings & from) {
      kings ^= both;
      castling &= ~kRank1;
    } else {
      // A branch on the kind of piece would be guessed wrong too often.
      knights ^= both & -((knights >> move.from) & 1);
      diagonals ^= both & -((diagonals >> move.from) & 1);
      straights ^= both & -((straights >> move.from) & 1);
    }
  }
  fullmove += black_to_move;
  black_to_move = !black_to_move;
  castling = flip(castling);
  turn();
}

}  // namespace zerogames::chess
