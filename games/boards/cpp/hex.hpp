#pragma once

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "grid.hpp"
#include "zerogames/error.hpp"
#include "zerogames/game.hpp"
#include "zerogames/hash.hpp"

namespace zerogames::boards {

/// Hex on a rhombus of 2x2 to 19x19 cells. The first player, x, connects the top to the bottom, the
/// second, o, left to right; one of them always does. Row 0 is on top, and each row is shifted half
/// a cell to the right of the one above, so that cell (r, c) touches (r, c-1), (r, c+1), (r-1, c),
/// (r-1, c+1), (r+1, c-1) and (r+1, c).
///
/// Actions and planes are in the mover's view, who always connects top to bottom: for the second
/// player the board is mirrored at the diagonal from a1, (r, c) becomes (c, r). Action r * size + c
/// places a stone; the last action swaps: the second player, instead of its first move, takes the
/// first stone over, mirrored at the same diagonal.
class Hex {
 public:
  static constexpr int kMaxSize = 19;

  /// The one encoding, "stones": own stones, the opponent's, whether the swap is open, ones.
  struct Encoding {};
  static Encoding parse_encoding(std::string_view text) {
    return require_encoding("hex", "stones", text), Encoding{};
  }

  explicit Hex(int size = 11, bool swap = true) : size_(size), swap_rule_(swap) {
    if (size < 2 || size > kMaxSize) throw Error("hex is played on 2x2 to 19x19 cells");
  }

  /// Rows from the top, numbers for empty cells, then the side to move: "3/1x1/3 o".
  static Hex from_text(int size, bool swap, std::string_view text) {
    Hex state(size, swap);
    int stones[2] = {0, 0};
    const auto rest = read_rows(text, size, size, "xo", [&](int row, int column, int side) {
      state.place(row * size + column, side);
      ++stones[side];
    });
    state.to_play_ = read_side(rest, "xo");
    const int lead = stones[0] - stones[1];
    // After a swap the second player is one stone ahead with the first to move.
    const bool swapped = swap && lead == state.to_play_ - 1;
    if (lead != state.to_play_ && !swapped) {
      throw Error("the stones do not fit the side to move: x moves first");
    }
    if (state.winner_ == state.to_play_) throw Error("the side to move has won already");
    return state;
  }
  std::string to_text() const {
    const auto letter = [&](int row, int column) {
      return "\0xo"[cells_[row * size_ + column] & kStone];
    };
    return write_rows(size_, size_, letter) + (to_play_ == 0 ? " x" : " o");
  }

  int size() const { return size_; }
  int action_size() const { return size_ * size_ + 1; }
  int to_play() const { return to_play_; }
  int plies() const { return plies_; }

  void legal_actions(std::vector<Action>& actions) const {
    actions.clear();
    if (winner_ >= 0) return;
    for (int row = 0; row < size_; ++row) {
      for (int column = 0; column < size_; ++column) {
        const int cell = to_play_ == 0 ? row * size_ + column : column * size_ + row;
        if (cells_[cell] == 0) actions.push_back(row * size_ + column);
      }
    }
    if (can_swap()) actions.push_back(size_ * size_);
  }
  bool is_legal(Action action) const {
    if (action == size_ * size_) return can_swap();
    return winner_ < 0 && cells_[seen(action)] == 0;
  }

  void play(Action action) {
    if (action == size_ * size_) {
      const int cell = mirrored(last_cell_);
      cells_[last_cell_] = 0;
      key_ = 0;
      num_stones_ = 0;
      place(cell, 1);
    } else {
      place(seen(action), to_play_);
    }
    to_play_ ^= 1;
    ++plies_;
  }

  std::optional<float> result() const {
    if (winner_ < 0) return std::nullopt;
    return winner_ == 0 ? 1.0F : -1.0F;
  }
  std::string_view end_reason() const { return winner_ < 0 ? "" : "connected"; }

  std::uint64_t position_key() const {
    return hash_combine(key_, static_cast<std::uint64_t>(to_play_));
  }
  std::uint64_t observation_key() const {
    return hash_combine(position_key(), std::uint64_t{can_swap()});
  }

  Shape observation_shape(Encoding) const { return {4, size_, size_}; }
  void pack(Encoding, PackedPlanes& packed) const {
    Cells stones[2];
    for (int action = 0; action < size_ * size_; ++action) {
      const int stone = cells_[seen(action)] & kStone;
      if (stone != 0) stones[stone - 1].add(action);
    }
    packed.bits.clear();
    stones[to_play_].append_to(packed, size_ * size_);
    stones[1 - to_play_].append_to(packed, size_ * size_);
    packed.constants = {can_swap() ? 1.0F : 0.0F, 1.0F};
  }
  void observe(Encoding encoding, std::span<float> planes) const {
    observe_packed(*this, encoding, planes);
  }

 private:
  // A cell: 0, or its stone (player + 1) and the own edges that the stone's group touches.
  static constexpr std::uint8_t kStone = 3, kNear = 4, kFar = 8;

  bool can_swap() const { return swap_rule_ && num_stones_ == 1 && to_play_ == 1; }
  int mirrored(int cell) const { return cell % size_ * size_ + cell / size_; }
  /// The cell that the side to move sees at `action`.
  int seen(Action action) const { return to_play_ == 0 ? action : mirrored(action); }

  /// Calls `visit(cell)` for the up to six neighbours.
  template <class Visit>
  void for_neighbours(int cell, Visit visit) const {
    const int row = cell / size_, column = cell % size_, last = size_ - 1;
    if (column > 0) visit(cell - 1);
    if (column < last) visit(cell + 1);
    if (row > 0) visit(cell - size_);
    if (row < last) visit(cell + size_);
    if (row > 0 && column < last) visit(cell - size_ + 1);
    if (row < last && column > 0) visit(cell + size_ - 1);
  }

  void place(int cell, int side) {
    const int along = side == 0 ? cell / size_ : cell % size_;
    const auto stone = static_cast<std::uint8_t>(side + 1);
    std::uint8_t group = stone;
    if (along == 0) group |= kNear;
    if (along == size_ - 1) group |= kFar;
    for_neighbours(cell, [&](int next) {
      if ((cells_[next] & kStone) == stone) group |= cells_[next];
    });
    cells_[cell] = group;
    if (group != stone) spread(cell);
    if ((group & kNear) != 0 && (group & kFar) != 0) winner_ = side;
    last_cell_ = cell;
    ++num_stones_;
    key_ ^= mix(static_cast<std::uint64_t>(2 * cell + side + 1));
  }

  /// Tells the stones that are connected to `from` which edges they touch now.
  void spread(int from) {
    const std::uint8_t group = cells_[from];
    std::array<std::int16_t, kMaxSize * kMaxSize> open;
    int count = 0;
    open[count++] = static_cast<std::int16_t>(from);
    while (count > 0) {
      for_neighbours(open[--count], [&](int next) {
        if ((cells_[next] & kStone) != (group & kStone) || cells_[next] == group) return;
        cells_[next] = group;
        open[count++] = static_cast<std::int16_t>(next);
      });
    }
  }

  std::array<std::uint8_t, kMaxSize * kMaxSize> cells_ = {};
  std::uint64_t key_ = 0;
  int size_;
  bool swap_rule_;
  int to_play_ = 0;
  int plies_ = 0;
  int num_stones_ = 0;
  int last_cell_ = 0;
  int winner_ = -1;
};

static_assert(PackedGame<Hex>);

}  // namespace zerogames::boards
