#pragma once

// Blocks of features and products of extractors, the twin of zerogames_chess/nnue/block.py.
//
// A view is a Placement in which `ours` are the pieces of the perspective and move up the board, so
// nothing here knows of colours. Features are binary: a feature that two pieces make active is
// listed once.

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "../board.hpp"

namespace zerogames::chess::nnue {

using Index = std::int32_t;
using Indices = std::vector<Index>;

inline constexpr int kNumKinds = 12;
inline constexpr int kKingRole = 5;

struct Piece {
  std::uint8_t square;
  std::uint8_t role;    ///< Pawn 0 to king 5.
  std::uint8_t colour;  ///< 0 own, 1 the opponent's.

  constexpr int kind() const { return role * 2 + colour; }
};

constexpr int role_at(const Placement& view, int square) {
  // By which of the five sets hold the square: pawns, knights, diagonals, straights, kings.
  constexpr std::array<std::uint8_t, 32> roles = [] {
    std::array<std::uint8_t, 32> table{};
    table[1] = 0, table[2] = 1, table[4] = 2, table[8] = 3, table[12] = 4, table[16] = 5;
    return table;
  }();
  const auto at = [&](Bitboard set, int place) { return ((set >> square) & 1) << place; };
  return roles[at(view.pawns, 0) | at(view.knights, 1) | at(view.diagonals, 2) |
               at(view.straights, 3) | at(view.kings, 4)];
}

constexpr Piece piece_at(const Placement& view, int square) {
  return {static_cast<std::uint8_t>(square), static_cast<std::uint8_t>(role_at(view, square)),
          static_cast<std::uint8_t>((view.theirs >> square) & 1)};
}

/// All pieces of one kind.
constexpr Bitboard pieces_of(const Placement& view, int role, int colour) {
  const Bitboard side = colour == 0 ? view.ours : view.theirs;
  switch (role) {
    case 0:
      return side & view.pawns;
    case 1:
      return side & view.knights;
    case 2:
      return side & view.bishops();
    case 3:
      return side & view.rooks();
    case 4:
      return side & view.queens();
    default:
      return side & view.kings;
  }
}

template <class Visit>
constexpr void for_each_piece_of(const Placement& view, Visit visit) {
  for (Bitboard rest = view.occupied(); rest;) visit(piece_at(view, pop_lowest(rest)));
}

constexpr int own_king(const Placement& view) { return lowest(view.kings & view.ours); }

/// The pieces of a position, or some of them.
class Pieces {
 public:
  void push_back(Piece piece) { pieces_[size_++] = piece; }
  const Piece* begin() const { return pieces_.data(); }
  const Piece* end() const { return pieces_.data() + size_; }

 private:
  std::size_t size_ = 0;
  std::array<Piece, 64> pieces_;
};

/// The way from one view to another of the same perspective, any number of moves later.
struct Transition {
  const Placement& before;
  const Placement& after;
  Pieces removed;
  Pieces added;

  Transition(const Placement& from, const Placement& to) : before(from), after(to) {
    const Bitboard differing = (from.ours ^ to.ours) | (from.theirs ^ to.theirs) |
                               (from.pawns ^ to.pawns) | (from.knights ^ to.knights) |
                               (from.diagonals ^ to.diagonals) | (from.straights ^ to.straights) |
                               (from.kings ^ to.kings);
    for (Bitboard rest = differing & from.occupied(); rest;) {
      removed.push_back(piece_at(from, pop_lowest(rest)));
    }
    for (Bitboard rest = differing & to.occupied(); rest;) {
      added.push_back(piece_at(to, pop_lowest(rest)));
    }
  }
};

/// One named summand of a feature set.
class Block {
 public:
  virtual ~Block() = default;
  virtual int size() const = 0;
  /// No position has more active features.
  virtual int max_active() const = 0;
  /// Appends the active features, each once, shifted by `offset`.
  virtual void active(const Placement& view, Index offset, Indices& out) const = 0;
  /// Appends what becomes active and what ceases to be; false if a fresh start is needed instead,
  /// and then the lists mean nothing.
  virtual bool changed(const Transition& way, Index offset, Indices& added,
                       Indices& removed) const {
    append_difference(way, offset, added, removed);
    return true;
  }

 protected:
  /// Compares the two lists of active features; returns how long the new one is.
  std::size_t append_difference(const Transition& way, Index offset, Indices& added,
                                Indices& removed) const {
    thread_local Indices old_list, new_list;
    old_list.clear(), new_list.clear();
    active(way.before, offset, old_list);
    active(way.after, offset, new_list);
    std::sort(old_list.begin(), old_list.end());
    std::sort(new_list.begin(), new_list.end());
    std::set_difference(new_list.begin(), new_list.end(), old_list.begin(), old_list.end(),
                        std::back_inserter(added));
    std::set_difference(old_list.begin(), old_list.end(), new_list.begin(), new_list.end(),
                        std::back_inserter(removed));
    return new_list.size();
  }
};

/// Sorts what was appended after `first` and leaves each index once.
inline void make_distinct(Indices& indices, std::size_t first) {
  const auto begin = indices.begin() + static_cast<std::ptrdiff_t>(first);
  std::sort(begin, indices.end());
  indices.erase(std::unique(begin, indices.end()), indices.end());
}

/// A base set with the function that finds a piece's element in it. `kFile` and `kRank` tell what
/// of the square it fixes once the king is known.
template <int size, bool file, bool rank>
struct Extractor {
  static constexpr int kSize = size;
  static constexpr bool kFile = file;
  static constexpr bool kRank = rank;
  /// What is read of the own king's square: a change of it needs a fresh start.
  static constexpr int king_part(int) { return 0; }
};

struct File : Extractor<8, true, false> {
  static constexpr int of(Piece piece, int) { return file_of(piece.square); }
};
struct Rank : Extractor<8, false, true> {
  static constexpr int of(Piece piece, int) { return rank_of(piece.square); }
};
struct Square : Extractor<64, true, true> {
  static constexpr int of(Piece piece, int) { return piece.square; }
};
struct Diag1 : Extractor<15, false, false> {
  static constexpr int of(Piece piece, int) {
    return file_of(piece.square) + rank_of(piece.square);
  }
};
struct Diag2 : Extractor<15, false, false> {
  static constexpr int of(Piece piece, int) {
    return file_of(piece.square) + 7 - rank_of(piece.square);
  }
};
struct Role : Extractor<6, false, false> {
  static constexpr int of(Piece piece, int) { return piece.role; }
};
struct Role5 : Extractor<5, false, false> {
  static constexpr int of(Piece piece, int) { return piece.role; }
};
struct Colour : Extractor<2, false, false> {
  static constexpr int of(Piece piece, int) { return piece.colour; }
};
struct OwnKing : Extractor<64, false, false> {
  static constexpr int of(Piece, int king) { return king; }
  static constexpr int king_part(int king) { return king; }
};
struct RelFile : Extractor<15, true, false> {
  static constexpr int of(Piece piece, int king) {
    return file_of(king) - file_of(piece.square) + 7;
  }
  static constexpr int king_part(int king) { return file_of(king); }
};
struct RelRank : Extractor<15, false, true> {
  static constexpr int of(Piece piece, int king) {
    return rank_of(king) - rank_of(piece.square) + 7;
  }
  static constexpr int king_part(int king) { return rank_of(king); }
};

/// Features of one piece: every factor looks at the same one.
template <class... Factors>
class Product final : public Block {
 public:
  static constexpr int kSize = (Factors::kSize * ...);
  /// A factor with five roles leaves the kings out.
  static constexpr bool kKings = !(std::is_same_v<Factors, Role5> || ...);
  /// Whether two pieces of a kind can share a feature.
  static constexpr bool kRepeats = !((Factors::kFile || ...) && (Factors::kRank || ...));

  /// Mixed radix, the last factor runs fastest.
  static constexpr Index index(Piece piece, int king) {
    Index found = 0;
    ((found = found * Factors::kSize + Factors::of(piece, king)), ...);
    return found;
  }

  int size() const override { return kSize; }
  int max_active() const override { return kKings ? 32 : 30; }

  void active(const Placement& view, Index offset, Indices& out) const override {
    const std::size_t first = out.size();
    const int king = own_king(view);
    for_each_piece_of(view, [&](Piece piece) {
      if (kKings || piece.role != kKingRole) out.push_back(offset + index(piece, king));
    });
    if constexpr (kRepeats) make_distinct(out, first);
  }

  bool changed(const Transition& way, Index offset, Indices& added,
               Indices& removed) const override {
    const int king = own_king(way.before), new_king = own_king(way.after);
    if (((Factors::king_part(king) != Factors::king_part(new_king)) || ...)) return false;
    const std::size_t first_added = added.size(), first_removed = removed.size();
    // Asking the boards whether the feature was and is active takes the place of counts.
    for (const Piece piece : way.removed) {
      if (!kKings && piece.role == kKingRole) continue;
      if (kRepeats && is_active(way.after, piece, king)) continue;
      removed.push_back(offset + index(piece, king));
    }
    for (const Piece piece : way.added) {
      if (!kKings && piece.role == kKingRole) continue;
      if (kRepeats && is_active(way.before, piece, king)) continue;
      added.push_back(offset + index(piece, king));
    }
    if constexpr (kRepeats) {
      make_distinct(added, first_added);
      make_distinct(removed, first_removed);
    }
    return true;
  }

 private:
  /// Whether a piece of the same kind has the same feature.
  static bool is_active(const Placement& view, Piece piece, int king) {
    const Index wanted = index(piece, king);
    for (Bitboard rest = pieces_of(view, piece.role, piece.colour); rest;) {
      const auto square = static_cast<std::uint8_t>(pop_lowest(rest));
      if (index({square, piece.role, piece.colour}, king) == wanted) return true;
    }
    return false;
  }
};

using PieceBlock = Product<Square, Role, Colour>;

}  // namespace zerogames::chess::nnue
