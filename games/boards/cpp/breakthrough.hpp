#pragma once

#include <bit>
#include <string>
#include <vector>

#include "grid.hpp"
#include "zerogames/error.hpp"
#include "zerogames/game.hpp"
#include "zerogames/hash.hpp"

namespace zerogames::boards {

/// Breakthrough on 4 to 8 rows of 2 to 8 cells: two rows of men each, which step one cell forward,
/// straight or diagonally, and capture diagonally. Who reaches the last row, or takes all, wins.
///
/// The board is kept as the side to move sees it, moving up from row 0, so that one rule serves
/// both; after each move it is turned upside down. Action = direction * cells + from cell, with
/// directions left, straight, right and cell = row * columns + column, all in the mover's view.
class Breakthrough {
 public:
  /// The one encoding, "men": own men, the opponent's, ones.
  struct Encoding {};
  static Encoding parse_encoding(std::string_view text) {
    return require_encoding("breakthrough", "men", text), Encoding{};
  }

  explicit Breakthrough(int rows = 8, int columns = 8) : rows_(rows), columns_(columns) {
    if (rows < 4 || rows > 8 || columns < 2 || columns > 8) {
      throw Error("breakthrough is played on 4 to 8 rows of 2 to 8 cells");
    }
    own_ = two_rows();
    other_ = turned(own_);
  }

  /// Rows from the top, where Black (b) begins, then the side to move:
  /// "bbbb/bbbb/4/wwww/wwww w".
  static Breakthrough from_text(int rows, int columns, std::string_view text) {
    Breakthrough state(rows, columns);
    std::uint64_t men[2] = {0, 0};
    const auto rest = read_rows(text, rows, columns, "wb", [&](int row, int column, int side) {
      men[side] |= bit(rows - 1 - row, column);
    });
    state.to_play_ = read_side(rest, "wb");
    state.own_ = state.to_play_ == 0 ? men[0] : state.turned(men[1]);
    state.other_ = state.to_play_ == 0 ? men[1] : state.turned(men[0]);
    if ((state.own_ & state.last_row()) != 0 || state.other_ == 0) {
      throw Error("the side to move has won already");
    }
    state.lost_ = state.own_ == 0 || (state.turned(state.other_) & state.last_row()) != 0;
    return state;
  }
  std::string to_text() const {
    const std::uint64_t white = to_play_ == 0 ? own_ : turned(other_);
    const std::uint64_t black = to_play_ == 0 ? other_ : turned(own_);
    const auto letter = [&](int row, int column) {
      const std::uint64_t cell = bit(rows_ - 1 - row, column);
      return (white & cell) != 0 ? 'w' : (black & cell) != 0 ? 'b' : '\0';
    };
    return write_rows(rows_, columns_, letter) + (to_play_ == 0 ? " w" : " b");
  }

  int action_size() const { return 3 * rows_ * columns_; }
  int to_play() const { return to_play_; }
  int plies() const { return plies_; }

  void legal_actions(std::vector<Action>& actions) const {
    actions.clear();
    if (lost_) return;
    for (int direction = 0; direction < 3; ++direction) {
      for (std::uint64_t men = movable(direction); men != 0; men &= men - 1) {
        const int cell = std::countr_zero(men);
        actions.push_back((direction * rows_ + cell / 8) * columns_ + cell % 8);
      }
    }
  }
  bool is_legal(Action action) const {
    return !lost_ && (movable(action / (rows_ * columns_)) & from_bit(action)) != 0;
  }

  void play(Action action) {
    const std::uint64_t from = from_bit(action);
    const std::uint64_t to = from << kSteps[action / (rows_ * columns_)];
    const std::uint64_t moved = own_ ^ from ^ to;
    lost_ = (other_ & ~to) == 0 || (to & last_row()) != 0;
    own_ = turned(other_ & ~to);
    other_ = turned(moved);
    to_play_ ^= 1;
    ++plies_;
  }

  std::optional<float> result() const {
    if (!lost_) return std::nullopt;
    return to_play_ == 1 ? 1.0F : -1.0F;
  }
  std::string_view end_reason() const {
    return !lost_ ? "" : own_ == 0 ? "all men taken" : "last row reached";
  }

  std::uint64_t position_key() const {
    return hash_combine(hash_combine(mix(own_), other_), static_cast<std::uint64_t>(to_play_));
  }
  std::uint64_t observation_key() const { return position_key(); }

  Shape observation_shape(Encoding) const { return {3, rows_, columns_}; }
  void pack(Encoding, PackedPlanes& packed) const {
    packed.bits = {compact(own_), compact(other_)};
    packed.constants = {1.0F};
  }
  void observe(Encoding encoding, std::span<float> planes) const {
    observe_packed(*this, encoding, planes);
  }

 private:
  // Bitboards have eight columns, whatever the board has.
  static constexpr int kSteps[3] = {7, 8, 9};
  static constexpr std::uint64_t kFirstColumn = 0x0101010101010101ULL;

  static constexpr std::uint64_t bit(int row, int column) {
    return std::uint64_t{1} << (8 * row + column);
  }
  std::uint64_t from_bit(Action action) const {
    const int cell = action % (rows_ * columns_);
    return bit(cell / columns_, cell % columns_);
  }
  std::uint64_t last_row() const { return std::uint64_t{0xFF} << (8 * (rows_ - 1)); }
  std::uint64_t two_rows() const {
    const std::uint64_t row = (std::uint64_t{1} << columns_) - 1;
    return row | row << 8;
  }

  /// The men that may step in a direction.
  std::uint64_t movable(int direction) const {
    if (direction == 1) return own_ & ~((own_ | other_) >> 8);
    const std::uint64_t edge =
        direction == 0 ? kFirstColumn : kFirstColumn << static_cast<unsigned>(columns_ - 1);
    return own_ & ~edge & ~(own_ >> kSteps[direction]);
  }

  /// The board upside down.
  std::uint64_t turned(std::uint64_t men) const {
    return __builtin_bswap64(men) >> (8 * (8 - rows_));
  }

  /// Without the columns that the board does not have.
  std::uint64_t compact(std::uint64_t men) const {
    if (columns_ == 8) return men;
    std::uint64_t packed = 0;
    const std::uint64_t row_mask = (std::uint64_t{1} << columns_) - 1;
    for (int row = 0; row < rows_; ++row) {
      packed |= ((men >> (8 * row)) & row_mask) << (columns_ * row);
    }
    return packed;
  }

  std::uint64_t own_ = 0, other_ = 0;
  int rows_, columns_;
  int plies_ = 0;
  int to_play_ = 0;
  bool lost_ = false;  ///< the side to move has lost
};

static_assert(PackedGame<Breakthrough>);

}  // namespace zerogames::boards
