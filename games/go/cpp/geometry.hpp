#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "zerogames/hash.hpp"

namespace zerogames::go {

inline constexpr int kMinSize = 2;
inline constexpr int kMaxSize = 25;
inline constexpr int kMaxArea = kMaxSize * kMaxSize;

/// row * size + column, row 0 at the bottom; also the action and the bit of the point.
using Point = std::uint16_t;

/// The values of the players are their `to_play`.
enum Colour : std::uint8_t { kBlack = 0, kWhite = 1, kEmpty = 2, kEdge = 3 };

constexpr Colour opponent(Colour player) { return player == kBlack ? kWhite : kBlack; }

/// A set of points.
struct Points {
  static constexpr int kWords = (kMaxArea + 63) / 64;
  std::array<std::uint64_t, kWords> words{};

  bool test(int point) const { return words[point / 64] >> (point % 64) & 1; }
  void set(int point) { words[point / 64] |= bit(point); }
  void reset(int point) { words[point / 64] &= ~bit(point); }
  void toggle(int point) { words[point / 64] ^= bit(point); }
  bool any() const { return *this != Points{}; }
  int count() const {
    int total = 0;
    for (const std::uint64_t word : words) total += std::popcount(word);
    return total;
  }
  bool operator==(const Points&) const = default;

  friend Points operator|(Points a, const Points& b) {
    for (int i = 0; i < kWords; ++i) a.words[i] |= b.words[i];
    return a;
  }
  friend Points operator&(Points a, const Points& b) {
    for (int i = 0; i < kWords; ++i) a.words[i] &= b.words[i];
    return a;
  }
  /// Those of `a` that are not in `b`.
  friend Points operator-(Points a, const Points& b) {
    for (int i = 0; i < kWords; ++i) a.words[i] &= ~b.words[i];
    return a;
  }

  /// Calls `visit(point)` for every point, ascending.
  template <class Visit>
  void for_each(Visit visit) const {
    for (int i = 0; i < kWords; ++i) {
      for (std::uint64_t word = words[i]; word; word &= word - 1) {
        visit(static_cast<Point>(64 * i + std::countr_zero(word)));
      }
    }
  }

 private:
  static constexpr std::uint64_t bit(int point) { return std::uint64_t{1} << (point % 64); }
};

/// What depends on the size of the board only; one shared instance per size.
struct Geometry {
  int size = 0;
  int area = 0;
  Points board;
  Points not_first_column;
  Points not_last_column;
  /// Off the board: `area`, whose colour is kEdge.
  std::array<std::array<Point, 4>, kMaxArea> neighbours{};

  static const Geometry& of(int size) {
    static const auto all = [] {
      std::array<Geometry, kMaxSize + 1> made;
      for (int n = kMinSize; n <= kMaxSize; ++n) made[n] = make(n);
      return made;
    }();
    return all[size];
  }

  /// The neighbours of a set of points, on the board.
  Points around(const Points& points) const {
    if (area <= 2 * 64) return around_in<2>(points);
    return area <= 6 * 64 ? around_in<6>(points) : around_in<Points::kWords>(points);
  }

 private:
  /// For boards that need no more words than these: a third of the work for 9x9.
  template <int kWords>
  Points around_in(const Points& points) const {
    Points found;
    for (int i = 0; i < kWords; ++i) {
      const std::uint64_t here = points.words[i];
      const std::uint64_t below = i > 0 ? points.words[i - 1] : 0;
      const std::uint64_t above = i + 1 < kWords ? points.words[i + 1] : 0;
      const std::uint64_t right = (here << 1 | below >> 63) & not_first_column.words[i];
      const std::uint64_t left = (here >> 1 | above << 63) & not_last_column.words[i];
      const std::uint64_t up = here << size | below >> (64 - size);
      const std::uint64_t down = here >> size | above << (64 - size);
      found.words[i] = (right | left | up | down) & board.words[i];
    }
    return found;
  }

  static Geometry make(int size) {
    Geometry made;
    made.size = size;
    made.area = size * size;
    for (int point = 0; point < made.area; ++point) {
      const int row = point / size, column = point % size;
      const auto other = [&](bool inside, int neighbour) {
        return static_cast<Point>(inside ? neighbour : made.area);
      };
      made.board.set(point);
      if (column > 0) made.not_first_column.set(point);
      if (column + 1 < size) made.not_last_column.set(point);
      made.neighbours[point] = {other(row > 0, point - size), other(column > 0, point - 1),
                                other(column + 1 < size, point + 1),
                                other(row + 1 < size, point + size)};
    }
    return made;
  }
};

/// Zobrist key of a stone.
inline std::uint64_t stone_key(Colour player, Point point) {
  static constexpr auto kKeys = [] {
    std::array<std::uint64_t, 2 * kMaxArea> keys{};
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = mix(0x676F000000000000ULL + i);
    return keys;
  }();
  return kKeys[player * kMaxArea + point];
}

}  // namespace zerogames::go
