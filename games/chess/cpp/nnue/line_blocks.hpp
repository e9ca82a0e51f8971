#pragma once

// Blocks that look at more than one piece, the twin of zerogames_chess/nnue/line_blocks.py.

#include <span>
#include <utility>

#include "features.hpp"

namespace zerogames::chess::nnue {

/// Squares that a piece attacks, whatever stands on them.
inline Bitboard attacks_of(Piece piece, Bitboard occupied) {
  const Bitboard here = bit(piece.square);
  switch (piece.role) {
    case 0:
      return piece.colour == 0 ? north_west(here) | north_east(here)
                               : south_west(here) | south_east(here);
    case 1:
      return kKnightAttacks[piece.square];
    case 2:
      return bishop_attacks(piece.square, occupied);
    case 3:
      return rook_attacks(piece.square, occupied);
    case 4:
      return bishop_attacks(piece.square, occupied) | rook_attacks(piece.square, occupied);
    default:
      return kKingAttacks[piece.square];
  }
}

/// (from, to): some piece could move so; both sides, no castling, no en passant.
class MoveBlock final : public Block {
 public:
  int size() const override { return 64 * 64; }
  // A side has at most nine queens, two rooks, bishops and knights, and its king.
  int max_active() const override { return 2 * (9 * 27 + 2 * 14 + 2 * 13 + 2 * 8 + 8); }

  void active(const Placement& view, Index offset, Indices& out) const override {
    for_each_piece_of(view, [&](Piece piece) {
      for (Bitboard rest = targets(view, piece); rest;) {
        out.push_back(offset + piece.square * 64 + pop_lowest(rest));
      }
    });
  }

  bool changed(const Transition& way, Index offset, Indices& added,
               Indices& removed) const override {
    const std::size_t known = added.size() + removed.size();
    const std::size_t length = append_difference(way, offset, added, removed);
    // One move opens and closes lines: often there is little that stays.
    return 2 * (added.size() + removed.size() - known) <= length;
  }

 private:
  static Bitboard targets(const Placement& view, Piece piece) {
    const Bitboard own = piece.colour == 0 ? view.ours : view.theirs;
    const Bitboard attacked = attacks_of(piece, view.occupied());
    if (piece.role != 0) return attacked & ~own;
    const Bitboard here = bit(piece.square), empty = ~view.occupied();
    const Bitboard taken = attacked & ~own & ~empty;
    if (piece.colour == 0) {
      const Bitboard step = north(here) & empty;
      return taken | step | (north(step & kRank3) & empty);
    }
    const Bitboard step = south(here) & empty;
    return taken | step | (south(step & kRank6) & empty);
  }
};

/// Line x kind x kind of the next piece on that line, along ranks or files.
template <bool along_ranks>
class NeighbourBlock final : public Block {
 public:
  int size() const override { return 8 * kNumKinds * kNumKinds; }
  int max_active() const override { return 28; }

  void active(const Placement& view, Index offset, Indices& out) const override {
    const std::size_t first = out.size();
    for (int line = 0; line < 8; ++line) {
      int last = -1;
      const Bitboard squares = along_ranks ? kRank1 << (8 * line) : kFileA << line;
      for (Bitboard rest = view.occupied() & squares; rest;) {
        const int kind = piece_at(view, pop_lowest(rest)).kind();
        if (last >= 0) out.push_back(offset + (line * kNumKinds + last) * kNumKinds + kind);
        last = kind;
      }
    }
    make_distinct(out, first);
  }
};

/// The squares that each kind attacks, by role * 2 + colour.
inline std::array<Bitboard, kNumKinds> attacks_by_kind(const Placement& view) {
  std::array<Bitboard, kNumKinds> attacked{};
  const Bitboard occupied = view.occupied();
  for_each_piece_of(view,
                    [&](Piece piece) { attacked[piece.kind()] |= attacks_of(piece, occupied); });
  return attacked;
}

/// SQUARE x ROLE x COLOUR: some such piece attacks this square.
class AttackBlock final : public Block {
 public:
  int size() const override { return 64 * kNumKinds; }
  int max_active() const override { return 2 * (16 + 8 + 4 * 64); }

  void active(const Placement& view, Index offset, Indices& out) const override {
    const auto attacked = attacks_by_kind(view);
    for (int kind = 0; kind < kNumKinds; ++kind) {
      for (Bitboard rest = attacked[kind]; rest;) {
        out.push_back(offset + pop_lowest(rest) * kNumKinds + kind);
      }
    }
  }
};

/// The number of squares that each kind attacks, clipped, as one of several buckets.
class AttackCountBlock final : public Block {
 public:
  static constexpr std::array<int, 6> kLimits = {8, 15, 16, 25, 25, 8};

  int size() const override { return 206; }
  int max_active() const override { return kNumKinds; }

  void active(const Placement& view, Index offset, Indices& out) const override {
    const auto attacked = attacks_by_kind(view);
    for (int kind = 0; kind < kNumKinds; ++kind) {
      const int limit = kLimits[kind / 2];
      out.push_back(offset + std::min(count(attacked[kind]), limit));
      offset += limit + 1;
    }
  }
};

namespace detail {

/// Calls visit(i, j) for every unordered pair of PIECE features with at least one of `pieces`.
template <class Visit>
void for_each_pair_with(const Pieces& pieces, const Placement& view, Visit visit) {
  Bitboard done = 0;
  for (const Piece piece : pieces) {
    done |= bit(piece.square);
    for (Bitboard rest = view.occupied() & ~done; rest;) {
      visit(PieceBlock::index(piece, 0), PieceBlock::index(piece_at(view, pop_lowest(rest)), 0));
    }
  }
}

template <class Visit>
void for_each_pair(const Placement& view, Visit visit) {
  for (Bitboard rest = view.occupied(); rest;) {
    const Index first = PieceBlock::index(piece_at(view, pop_lowest(rest)), 0);
    for (Bitboard others = rest; others;) {
      visit(first, PieceBlock::index(piece_at(view, pop_lowest(others)), 0));
    }
  }
}

}  // namespace detail

/// PIECE x PIECE: ordered pairs of two pieces.
class PairBlock final : public Block {
  static auto append_to(Indices& out, Index offset) {
    return [&out, offset](Index first, Index second) {
      out.push_back(offset + first * PieceBlock::kSize + second);
      out.push_back(offset + second * PieceBlock::kSize + first);
    };
  }

 public:
  int size() const override { return PieceBlock::kSize * PieceBlock::kSize; }
  int max_active() const override { return 32 * 31; }

  void active(const Placement& view, Index offset, Indices& out) const override {
    detail::for_each_pair(view, append_to(out, offset));
  }
  bool changed(const Transition& way, Index offset, Indices& added,
               Indices& removed) const override {
    detail::for_each_pair_with(way.added, way.after, append_to(added, offset));
    detail::for_each_pair_with(way.removed, way.before, append_to(removed, offset));
    return true;
  }
};

/// The most frequent unordered pairs of PIECE.
class TopPairBlock final : public Block {
  auto append_to(Indices& out, Index offset) const {
    return [this, &out, offset](Index first, Index second) {
      const Index number = numbers_[first * PieceBlock::kSize + second];
      if (number >= 0) out.push_back(offset + number);
    };
  }

 public:
  explicit TopPairBlock(std::span<const std::array<std::uint16_t, 2>> pairs)
      : size_(static_cast<int>(pairs.size())), numbers_(PieceBlock::kSize * PieceBlock::kSize, -1) {
    Index number = 0;
    for (const auto [first, second] : pairs) {
      if (std::max(first, second) >= PieceBlock::kSize) throw Error("a pair has no such piece");
      numbers_[first * PieceBlock::kSize + second] = number;
      numbers_[second * PieceBlock::kSize + first] = number++;
    }
  }

  int size() const override { return size_; }
  int max_active() const override { return std::min(32 * 31 / 2, size_); }

  void active(const Placement& view, Index offset, Indices& out) const override {
    detail::for_each_pair(view, append_to(out, offset));
  }
  bool changed(const Transition& way, Index offset, Indices& added,
               Indices& removed) const override {
    detail::for_each_pair_with(way.added, way.after, append_to(added, offset));
    detail::for_each_pair_with(way.removed, way.before, append_to(removed, offset));
    return true;
  }

 private:
  int size_;
  std::vector<Index> numbers_;
};

}  // namespace zerogames::chess::nnue
