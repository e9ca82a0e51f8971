#pragma once

#include <bit>
#include <cctype>
#include <string>

#include "zerogames/error.hpp"
#include "zerogames/game.hpp"
#include "zerogames/hash.hpp"

namespace zerogames {

/// Connect Four, 7 columns by 6 rows. An action is a column, 0 at the left.
///
/// Bitboards: column c takes bits 7c (bottom) to 7c + 5; bit 7c + 6 stays empty, so that shifts
/// along a line never wrap into the next column.
class ConnectFour {
 public:
  static constexpr int kColumns = 7;
  static constexpr int kRows = 6;

  /// The one encoding, "stones": own stones, the opponent's, ones.
  struct Encoding {};
  static Encoding parse_encoding(std::string_view text) {
    if (text != "stones") {
      throw Error("connect4 has no encoding '" + std::string(text) + "'; known: stones");
    }
    return {};
  }

  /// Rows from the top, digits for empty cells, then the side to move: "7/7/7/7/3x3/2oxo2 x".
  static ConnectFour from_text(std::string_view text) {
    ConnectFour state;
    int row = kRows - 1, column = 0, stones[2] = {0, 0};
    std::size_t i = 0;
    for (; i < text.size() && text[i] != ' '; ++i) {
      const char c = text[i];
      if (c == '/') {
        if (column != kColumns || row == 0) throw Error("a board has 6 rows of 7 cells");
        --row, column = 0;
      } else if (std::isdigit(static_cast<unsigned char>(c))) {
        column += c - '0';
      } else if (c == 'x' || c == 'o') {
        if (column >= kColumns) throw Error("a row has 7 cells");
        state.stones_[c == 'o'] |= cell(column++, row);
        ++stones[c == 'o'];
      } else {
        throw Error("a board is written with x, o, digits and /, not '" + std::string(1, c) + "'");
      }
      if (column > kColumns) throw Error("a row has 7 cells");
    }
    if (row != 0 || column != kColumns) throw Error("a board has 6 rows of 7 cells");
    if (text.substr(i) != " x" && text.substr(i) != " o")
      throw Error("after the board comes x or o");
    state.to_play_ = text.back() == 'o';
    if (stones[0] - stones[1] != state.to_play_) {
      throw Error("the stones do not fit the side to move: x moves first");
    }
    for (int c = 0; c < kColumns; ++c) {
      const auto column_bits = static_cast<unsigned>((state.occupied() >> (7 * c)) & 0x3F);
      if (column_bits & (column_bits + 1)) throw Error("a stone hangs in the air");
    }
    const bool mover_won = has_four(state.stones_[state.to_play_]);
    if (mover_won) throw Error("the side to move has four in a row already");
    state.won_ = has_four(state.stones_[1 - state.to_play_]);
    return state;
  }

  std::string to_text() const {
    std::string text;
    for (int row = kRows - 1; row >= 0; --row) {
      int empty = 0;
      for (int column = 0; column < kColumns; ++column) {
        const std::uint64_t bit = cell(column, row);
        if (!(occupied() & bit)) {
          ++empty;
          continue;
        }
        if (empty) text += static_cast<char>('0' + empty);
        empty = 0;
        text += stones_[0] & bit ? 'x' : 'o';
      }
      if (empty) text += static_cast<char>('0' + empty);
      text += row ? '/' : ' ';
    }
    return text + (to_play_ == 0 ? 'x' : 'o');
  }

  int action_size() const { return kColumns; }
  int to_play() const { return to_play_; }
  int plies() const { return plies_; }
  /// Bitboard of a player's stones.
  std::uint64_t stones(int player) const { return stones_[player]; }

  void legal_actions(std::vector<Action>& actions) const {
    actions.clear();
    for (Action column = 0; column < kColumns; ++column) {
      if (is_legal(column)) actions.push_back(column);
    }
  }
  bool is_legal(Action column) const { return !won_ && !(occupied() & cell(column, kRows - 1)); }

  void play(Action column) {
    // Adding one to the column's stones carries into its lowest empty cell.
    const std::uint64_t filled = occupied() + cell(column, 0);
    stones_[to_play_] |= filled & (std::uint64_t{0x3F} << (7 * column)) & ~occupied();
    won_ = has_four(stones_[to_play_]);
    to_play_ ^= 1;
    ++plies_;
  }

  std::optional<float> result() const {
    if (won_) return to_play_ == 1 ? 1.0F : -1.0F;
    if (occupied() == kFull) return 0.0F;
    return std::nullopt;
  }
  std::string_view end_reason() const {
    return won_ ? "four in a row" : occupied() == kFull ? "board full" : "";
  }

  std::uint64_t position_key() const { return hash_combine(mix(stones_[0]), stones_[1]); }
  std::uint64_t observation_key() const { return position_key(); }

  Shape observation_shape(Encoding) const { return {3, kRows, kColumns}; }
  void pack(Encoding, PackedPlanes& packed) const {
    packed.bits = {row_major(stones_[to_play_]), row_major(stones_[1 - to_play_])};
    packed.constants = {1.0F};
  }
  void observe(Encoding encoding, std::span<float> planes) const {
    const std::uint64_t bits[2] = {row_major(stones_[to_play_]), row_major(stones_[1 - to_play_])};
    const float one[1] = {1.0F};
    unpack_planes(bits, one, observation_shape(encoding).cells(), planes);
  }

 private:
  static constexpr std::uint64_t cell(int column, int row) {
    return std::uint64_t{1} << (7 * column + row);
  }
  static constexpr std::uint64_t kFull = [] {
    std::uint64_t full = 0;
    for (int column = 0; column < kColumns; ++column) full |= std::uint64_t{0x3F} << (7 * column);
    return full;
  }();

  std::uint64_t occupied() const { return stones_[0] | stones_[1]; }

  static bool has_four(std::uint64_t stones) {
    for (const int step : {1, 7, 6, 8}) {  // vertical, horizontal, the two diagonals
      const std::uint64_t pairs = stones & (stones >> step);
      if (pairs & (pairs >> (2 * step))) return true;
    }
    return false;
  }

  /// Columns to rows, bottom row first.
  static std::uint64_t row_major(std::uint64_t stones) {
    std::uint64_t rows = 0;
    for (; stones; stones &= stones - 1) {
      const int bit = std::countr_zero(stones);
      rows |= std::uint64_t{1} << (bit % 7 * kColumns + bit / 7);
    }
    return rows;
  }

  std::uint64_t stones_[2] = {0, 0};
  int plies_ = 0;
  int to_play_ = 0;
  bool won_ = false;
};

static_assert(PackedGame<ConnectFour>);

}  // namespace zerogames
