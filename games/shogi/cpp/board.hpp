#pragma once

#include <string_view>

#include "bitboard.hpp"
#include "zerogames/hash.hpp"

namespace zerogames::shogi {

enum Side : std::uint8_t { kBlack, kWhite };
constexpr int other(int side) { return side ^ 1; }

/// The kinds in the order of the pieces in hand; a promoted kind is kPromoted more.
enum Kind : std::uint8_t {
  kPawn,
  kLance,
  kKnight,
  kSilver,
  kGold,
  kBishop,
  kRook,
  kKing,
  kTokin,
  kPromotedLance,
  kPromotedKnight,
  kPromotedSilver,
  kHorse = 13,
  kDragon = 14,
};
inline constexpr int kPromoted = 8;
inline constexpr int kNumHandKinds = 7;
/// Pieces of each kind in a set, both sides together.
inline constexpr std::array<int, 8> kSetSize = {18, 4, 4, 4, 4, 2, 2, 2};

constexpr bool can_promote(int kind) { return kind < kKing && kind != kGold; }
constexpr bool is_promoted(int kind) { return kind >= kPromoted; }
constexpr int unpromoted(int kind) { return kind & (kPromoted - 1); }

/// What stands on a square: 0 for nothing, else the kind, its side and a mark.
using Piece = std::uint8_t;
inline constexpr Piece kEmpty = 0;
constexpr Piece piece_of(int side, int kind) {
  return static_cast<Piece>(0x20 | (side << 4) | kind);
}
constexpr int side_of(Piece piece) { return (piece >> 4) & 1; }
constexpr int kind_of(Piece piece) { return piece & 15; }

/// Kinds that move alike; promoted small pieces move as golds do.
enum Mover : std::uint8_t {
  kPawns,
  kLances,
  kKnights,
  kSilvers,
  kGolds,
  kBishops,
  kRooks,
  kKings,
  kHorses,
  kDragons,
};
inline constexpr int kNumMovers = 10;
inline constexpr std::array<std::uint8_t, 15> kMoverOf = {
    kPawns, kLances, kKnights, kSilvers, kGolds, kBishops, kRooks,  kKings,
    kGolds, kGolds,  kGolds,   kGolds,   kGolds, kHorses,  kDragons};

/// A move: of a piece on `from`, or where `from` is kSquares + kind, of a piece in hand.
struct Move {
  std::uint8_t from = 0;
  std::uint8_t to = 0;
  bool promotes = false;

  constexpr bool is_drop() const { return from >= kSquares; }
  constexpr int drop_kind() const { return from - kSquares; }
  constexpr bool operator==(const Move&) const = default;
};

/// A position without its past, from Black's side of the board. A plain value of 320 bytes.
struct Board {
  std::array<Bitboard, kNumMovers> movers{};  ///< Both sides' pieces.
  std::array<Bitboard, 2> sides{};
  std::array<Piece, kSquares> squares{};
  std::array<std::array<std::uint8_t, kNumHandKinds>, 2> hands{};
  std::uint8_t side = kBlack;  ///< To move.
  std::uint32_t move_number = 1;
  /// Covers pieces, hands and the side to move.
  std::uint64_t key = 0;

  Bitboard occupied() const { return sides[kBlack] | sides[kWhite]; }
  Bitboard empty() const { return kBoard ^ occupied(); }
  int king_square(int owner) const { return lowest(movers[kKings] & sides[owner]); }

  /// Requires an empty square.
  void put(int square, Piece piece) {
    squares[square] = piece;
    toggle(square, piece);
  }
  /// Requires a piece; returns it.
  Piece take(int square) {
    const Piece piece = squares[square];
    squares[square] = kEmpty;
    toggle(square, piece);
    return piece;
  }
  void set_hand(int owner, int kind, int number) {
    key ^= hand_key(owner, kind, hands[owner][kind]) ^ hand_key(owner, kind, number);
    hands[owner][kind] = static_cast<std::uint8_t>(number);
  }
  void pass_turn() {
    side ^= 1;
    key ^= kTurnKey;
  }

  /// Requires a legal move.
  void play(Move move) {
    if (move.is_drop()) {
      const int kind = move.drop_kind();
      set_hand(side, kind, hands[side][kind] - 1);
      put(move.to, piece_of(side, kind));
    } else {
      if (squares[move.to] != kEmpty) {
        const int kind = unpromoted(kind_of(take(move.to)));
        set_hand(side, kind, hands[side][kind] + 1);
      }
      const Piece piece = take(move.from);
      put(move.to, static_cast<Piece>(move.promotes ? piece | kPromoted : piece));
    }
    ++move_number;
    pass_turn();
  }

 private:
  static constexpr std::uint64_t kTurnKey = mix(0x7368'6F67'69);

  void toggle(int square, Piece piece) {
    movers[kMoverOf[kind_of(piece)]] ^= bit(square);
    sides[side_of(piece)] ^= bit(square);
    key ^= mix(std::uint64_t{piece} << 8 | static_cast<std::uint64_t>(square));
  }
  /// Nothing for an empty hand, so that a key does not depend on the kinds that there are.
  static std::uint64_t hand_key(int owner, int kind, int number) {
    if (number == 0) return 0;
    return mix(0x10000 | static_cast<std::uint64_t>(owner << 12 | kind << 8 | number));
  }
};

/// The three rows in which a side's pieces promote, and its last rows.
constexpr Bitboard promotion_zone(int side) { return side == kBlack ? rows(0, 3) : rows(6, 3); }
constexpr Bitboard last_rows(int side, int number) {
  return side == kBlack ? rows(0, number) : rows(kSide - number, number);
}
/// The rows from which an unpromoted piece of the kind could never move again.
constexpr Bitboard dead_squares(int side, int kind) {
  if (kind == kPawn || kind == kLance) return last_rows(side, 1);
  return kind == kKnight ? last_rows(side, 2) : Bitboard{0};
}

}  // namespace zerogames::shogi
