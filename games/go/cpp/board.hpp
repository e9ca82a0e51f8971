#pragma once

#include <algorithm>
#include <cstring>

#include "geometry.hpp"

namespace zerogames::go {

/// What one placed stone changed: enough to take it back, in reverse order of placing.
struct Placement;

/// Stones on a board with their chains. It knows captures, but neither ko nor whose turn it is.
///
/// A chain is a circular list of stones with one of them as its head. For every adjacent pair of
/// one of its stones and an empty point (a *contact*) the head holds the count, the sum and the
/// sum of squares of the empty points: no contact means no liberty, and by Cauchy and Schwarz
/// count * squares = sum^2 exactly when all contacts are one and the same liberty.
class Board {
 public:
  explicit Board(int size) : geometry_(&Geometry::of(size)) {
    std::memset(colours_, kEmpty, geometry_->area);
    colours_[geometry_->area] = kEdge;
    std::memset(static_cast<void*>(links_), 0, sizeof(links_));
  }
  Board(const Board& other) { copy(other); }
  /// Only the part of the arrays that this size of board uses is copied.
  Board& operator=(const Board& other) {
    if (this != &other) copy(other);
    return *this;
  }

  const Geometry& geometry() const { return *geometry_; }
  int size() const { return geometry_->size; }
  int area() const { return geometry_->area; }
  Colour colour(Point point) const { return static_cast<Colour>(colours_[point]); }
  const std::array<Point, 4>& neighbours(Point point) const { return geometry_->neighbours[point]; }
  const Points& stones(Colour player) const { return stones_[player]; }
  Points empty() const { return geometry_->board - stones_[kBlack] - stones_[kWhite]; }
  /// Zobrist hash of the stones.
  std::uint64_t hash() const { return hash_; }

  /// The head of the chain that the stone on `point` belongs to.
  Point head(Point point) const { return links_[point].head; }
  /// The heads of all chains of a player.
  Points heads(Colour player) const { return heads_ & stones_[player]; }
  int chain_size(Point head) const { return links_[head].stones; }
  bool has_liberty(Point head) const { return links_[head].contacts != 0; }
  /// Exactly one liberty; false also for none.
  bool in_atari(Point head) const {
    const Link& chain = links_[head];
    return chain.contacts != 0 &&
           std::uint64_t{chain.contacts} * chain.squares == std::uint64_t{chain.sum} * chain.sum;
  }
  /// The last liberty of a chain in atari.
  Point only_liberty(Point head) const {
    return static_cast<Point>(links_[head].sum / links_[head].contacts);
  }

  template <class Visit>
  void for_each_stone(Point head, Visit visit) const {
    Point stone = head;
    do {
      const Point next = links_[stone].next;
      visit(stone);
      stone = next;
    } while (stone != head);
  }

  /// Writes up to `limit` liberties of a chain and returns how many.
  int liberties(Point head, Point* found, int limit) const {
    int count = 0;
    Point stone = head;
    do {
      for (const Point next : neighbours(stone)) {
        if (colours_[next] != kEmpty) continue;
        if (std::find(found, found + count, next) != found + count) continue;
        found[count++] = next;
        if (count == limit) return count;
      }
      stone = links_[stone].next;
    } while (stone != head);
    return count;
  }

  /// What a stone on the empty `point` would do.
  struct Effect {
    bool captures = false;
    bool lives = false;  ///< without captures, the new chain would have a liberty
    bool suicide() const { return !captures && !lives; }
  };
  Effect effect(Point point, Colour player) const {
    Effect effect;
    for (const Point next : neighbours(point)) {
      const Colour there = colour(next);
      if (there == kEmpty) {
        effect.lives = true;
      } else if (there != kEdge) {
        const bool atari = in_atari(links_[next].head);
        if (there == player) {
          effect.lives |= !atari;
        } else {
          effect.captures |= atari;
        }
      }
    }
    return effect;
  }

  /// Whether a stone on the empty `point` would not be suicide.
  bool stays(Point point, Colour player) const {
    for (const Point next : neighbours(point)) {
      const Colour there = colour(next);
      if (there == kEmpty) return true;
      if (there != kEdge && in_atari(links_[next].head) == (there != player)) return true;
    }
    return false;
  }

  /// The points where a player may put a stone, by the board alone.
  struct Moves {
    Points plain;     ///< the new chain lives and nothing is captured
    Points captures;  ///< something is captured
    Points suicides;  ///< the new chain dies
  };
  Moves moves(Colour player) const {
    const Points empty = this->empty();
    Moves moves;
    heads(opponent(player)).for_each([&](Point head) {
      if (in_atari(head)) moves.captures.set(only_liberty(head));
    });
    Points safe = stones_[player];
    heads(player).for_each([&](Point head) {
      if (in_atari(head)) for_each_stone(head, [&](Point stone) { safe.reset(stone); });
    });
    moves.plain = (geometry_->around(empty | safe) & empty) - moves.captures;
    moves.suicides = empty - moves.plain - moves.captures;
    return moves;
  }

  /// Calls `visit(head)` once for every enemy chain that a stone on `point` would capture.
  template <class Visit>
  void for_each_captured(Point point, Colour player, Visit visit) const {
    Point seen[4];
    int count = 0;
    for (const Point next : neighbours(point)) {
      if (colour(next) != opponent(player)) continue;
      const Point head = links_[next].head;
      if (!in_atari(head) || std::find(seen, seen + count, head) != seen + count) continue;
      seen[count++] = head;
      visit(head);
    }
  }

  /// Puts a stone on an empty point and merges chains; captures nothing.
  void add_stone(Point point, Colour player, Placement& done);
  /// add_stone, then captures enemy chains without a liberty.
  void place(Point point, Colour player, Placement& done);
  /// Takes the last placement back.
  void undo(const Placement& done);
  /// Removes the stones of a chain, e.g. after suicide.
  void remove_chain(Point head);

 private:
  struct Link {
    std::uint32_t sum;
    std::uint32_t squares;
    std::uint16_t contacts;
    std::uint16_t stones;
    Point head;
    Point next;

    void add_contact(Point liberty) {
      ++contacts;
      sum += liberty;
      squares += static_cast<std::uint32_t>(liberty) * liberty;
    }
    void remove_contact(Point liberty) {
      --contacts;
      sum -= liberty;
      squares -= static_cast<std::uint32_t>(liberty) * liberty;
    }
  };
  friend struct Placement;

  void copy(const Board& other) {
    geometry_ = other.geometry_;
    stones_[0] = other.stones_[0];
    stones_[1] = other.stones_[1];
    heads_ = other.heads_;
    hash_ = other.hash_;
    std::memcpy(colours_, other.colours_, geometry_->area + 1);
    std::memcpy(static_cast<void*>(links_), other.links_, geometry_->area * sizeof(Link));
  }

  void merge(Point a, Point b, Placement& done);
  void restore_chain(Point head, Colour player);

  const Geometry* geometry_;
  Points stones_[2];
  Points heads_;
  std::uint64_t hash_ = 0;
  std::uint8_t colours_[kMaxArea + 1];
  /// head and next are valid for every stone, the rest for heads.
  Link links_[kMaxArea];
};

struct Placement {
  Point point;
  Colour player;
  std::uint8_t num_merged;
  std::uint8_t num_captured;
  struct Merge {
    Point kept;
    Point joined;
  } merged[4];
  Point captured[4];     ///< heads; the lists of stones stay linked until a stone is placed there
  Board::Link previous;  ///< what the point's link held: part of a captured chain's list, perhaps
};

inline void Board::merge(Point a, Point b, Placement& done) {
  const bool keep_a = links_[a].stones >= links_[b].stones;
  const Point kept = keep_a ? a : b, joined = keep_a ? b : a;
  for_each_stone(joined, [&](Point stone) { links_[stone].head = kept; });
  Link& into = links_[kept];
  const Link& from = links_[joined];
  into.sum += from.sum;
  into.squares += from.squares;
  into.contacts = static_cast<std::uint16_t>(into.contacts + from.contacts);
  into.stones = static_cast<std::uint16_t>(into.stones + from.stones);
  std::swap(links_[kept].next, links_[joined].next);
  heads_.reset(joined);
  done.merged[done.num_merged++] = {kept, joined};
}

inline void Board::add_stone(Point point, Colour player, Placement& done) {
  done.point = point;
  done.player = player;
  done.num_merged = done.num_captured = 0;
  done.previous = links_[point];
  colours_[point] = player;
  stones_[player].set(point);
  heads_.set(point);
  hash_ ^= stone_key(player, point);
  links_[point] = {
      .sum = 0, .squares = 0, .contacts = 0, .stones = 1, .head = point, .next = point};
  for (const Point next : neighbours(point)) {
    const Colour there = colour(next);
    if (there == kEmpty) {
      links_[point].add_contact(next);
    } else if (there != kEdge) {
      links_[links_[next].head].remove_contact(point);
    }
  }
  for (const Point next : neighbours(point)) {
    if (colour(next) != player) continue;
    const Point a = links_[point].head, b = links_[next].head;
    if (a != b) merge(a, b, done);
  }
}

inline void Board::place(Point point, Colour player, Placement& done) {
  add_stone(point, player, done);
  const Colour enemy = opponent(player);
  for (const Point next : neighbours(point)) {
    if (colour(next) != enemy || links_[links_[next].head].contacts != 0) continue;
    done.captured[done.num_captured++] = links_[next].head;
    remove_chain(links_[next].head);
  }
}

inline void Board::remove_chain(Point head) {
  const Colour player = colour(head);
  heads_.reset(head);
  for_each_stone(head, [&](Point stone) {
    colours_[stone] = kEmpty;
    stones_[player].reset(stone);
    hash_ ^= stone_key(player, stone);
    for (const Point next : neighbours(stone)) {
      if (colour(next) < kEmpty && links_[next].head != head) {
        links_[links_[next].head].add_contact(stone);
      }
    }
  });
}

inline void Board::restore_chain(Point head, Colour player) {
  heads_.set(head);
  for_each_stone(head, [&](Point stone) {
    colours_[stone] = player;
    stones_[player].set(stone);
    hash_ ^= stone_key(player, stone);
    for (const Point next : neighbours(stone)) {
      if (colour(next) < kEmpty && links_[next].head != head) {
        links_[links_[next].head].remove_contact(stone);
      }
    }
  });
}

inline void Board::undo(const Placement& done) {
  for (int i = done.num_captured; i-- > 0;) {
    restore_chain(done.captured[i], opponent(done.player));
  }
  for (int i = done.num_merged; i-- > 0;) {
    const auto [kept, joined] = done.merged[i];
    std::swap(links_[kept].next, links_[joined].next);
    for_each_stone(joined, [this, head = joined](Point stone) { links_[stone].head = head; });
    Link& from = links_[kept];
    const Link& part = links_[joined];
    from.sum -= part.sum;
    from.squares -= part.squares;
    from.contacts = static_cast<std::uint16_t>(from.contacts - part.contacts);
    from.stones = static_cast<std::uint16_t>(from.stones - part.stones);
    heads_.set(joined);
  }
  for (const Point next : neighbours(done.point)) {
    if (colour(next) < kEmpty) links_[links_[next].head].add_contact(done.point);
  }
  heads_.reset(done.point);
  links_[done.point] = done.previous;
  colours_[done.point] = kEmpty;
  stones_[done.player].reset(done.point);
  hash_ ^= stone_key(done.player, done.point);
}

}  // namespace zerogames::go
