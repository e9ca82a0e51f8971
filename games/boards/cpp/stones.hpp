#pragma once

// Boards on which stones are placed to stand in a row: Gomoku, Renju, Connect6.

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "grid.hpp"
#include "zerogames/error.hpp"
#include "zerogames/game.hpp"
#include "zerogames/hash.hpp"

namespace zerogames::boards {

/// Stones on the crossings of a board of up to 19x19; cell = row * size + column, row 0 at the
/// bottom. The players are 0 (black, x) and 1 (white, o).
class Stones {
 public:
  static constexpr int kMaxSize = 19;
  /// A row's direction: right, up, and the two diagonals.
  struct Direction {
    int row, column;
  };
  static constexpr Direction kDirections[4] = {{0, 1}, {1, 0}, {1, 1}, {1, -1}};

  explicit Stones(int size) : size_(size) {}

  int size() const { return size_; }
  int num_cells() const { return size_ * size_; }
  int num_stones() const { return num_stones_; }
  bool full() const { return num_stones_ == num_cells(); }
  std::uint64_t key() const { return key_; }
  const Cells& of(int side) const { return stones_[side]; }
  bool is_empty(int cell) const { return !stones_[0][cell] && !stones_[1][cell]; }

  void add(int cell, int side) {
    stones_[side].add(cell);
    key_ ^= mix(static_cast<std::uint64_t>(2 * cell + side + 1));
    ++num_stones_;
  }

  void list_empty(std::vector<Action>& actions) const {
    actions.clear();
    for (int cell = 0; cell < num_cells(); ++cell) {
      if (is_empty(cell)) actions.push_back(cell);
    }
  }

  /// The cell so many steps from `cell` in a direction, or -1 off the board.
  int step(int cell, Direction direction, int steps) const {
    const int row = cell / size_ + steps * direction.row;
    const int column = cell % size_ + steps * direction.column;
    if (row < 0 || row >= size_ || column < 0 || column >= size_) return -1;
    return row * size_ + column;
  }
  bool is_stone(int cell, int side) const { return cell >= 0 && stones_[side][cell]; }

  /// Stones of `side` in one row through `cell`, which counts as one whatever is there.
  int row_length(int cell, int side, Direction direction) const {
    int length = 1;
    for (const int sign : {1, -1}) {
      for (int i = 1; is_stone(step(cell, direction, sign * i), side); ++i) ++length;
    }
    return length;
  }
  /// Of the four directions.
  int longest_row(int cell, int side) const {
    int longest = 0;
    for (const Direction direction : kDirections) {
      longest = std::max(longest, row_length(cell, side, direction));
    }
    return longest;
  }

  /// Reads rows from the top; calls `after(cell, side)` for every stone once all are there.
  template <class After>
  std::string_view read(std::string_view text, After after) {
    const auto rest = read_rows(text, size_, size_, "xo", [&](int row, int column, int side) {
      add((size_ - 1 - row) * size_ + column, side);
    });
    for (int cell = 0; cell < num_cells(); ++cell) {
      for (const int side : {0, 1}) {
        if (stones_[side][cell]) after(cell, side);
      }
    }
    return rest;
  }
  std::string to_text() const {
    return write_rows(size_, size_, [&](int row, int column) {
      const int cell = (size_ - 1 - row) * size_ + column;
      return stones_[0][cell] ? 'x' : stones_[1][cell] ? 'o' : '\0';
    });
  }

  int count(int side) const {
    int count = 0;
    for (int cell = 0; cell < num_cells(); ++cell) count += stones_[side][cell];
    return count;
  }

 private:
  std::array<Cells, 2> stones_;
  std::uint64_t key_ = 0;
  int size_;
  int num_stones_ = 0;
};

}  // namespace zerogames::boards
