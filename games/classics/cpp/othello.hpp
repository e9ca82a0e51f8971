#pragma once

#include <bit>
#include <cctype>
#include <string>

#include "zerogames/error.hpp"
#include "zerogames/game.hpp"
#include "zerogames/hash.hpp"

namespace zerogames {

/// Othello on 4x4, 6x6 or 8x8. Actions are row * size + column, row 0 printed on top as rank 1;
/// the last action is the pass, legal only when there is no other move. Black (x) begins.
///
/// Every size lives in the upper left corner of one 8x8 bitboard: cells outside a smaller board
/// stay empty, and an empty cell ends a line of discs just as the edge does.
class Othello {
 public:
  /// The one encoding, "stones": own discs, the opponent's, ones.
  struct Encoding {};
  static Encoding parse_encoding(std::string_view text) {
    if (text != "stones") {
      throw Error("othello has no encoding '" + std::string(text) + "'; known: stones");
    }
    return {};
  }

  explicit Othello(int size = 8) : size_(size) {
    if (size != 4 && size != 6 && size != 8) throw Error("othello is played on 4x4, 6x6 or 8x8");
    const int low = size / 2 - 1, high = size / 2;
    discs_[0] = bit(low, high) | bit(high, low);
    discs_[1] = bit(low, low) | bit(high, high);
    update_moves();
  }

  /// Rows from rank 1, digits for empty cells, then the side to move:
  /// "8/8/8/3ox3/3xo3/8/8/8 x".
  static Othello from_text(int size, std::string_view text) {
    Othello state(size);
    state.discs_[0] = state.discs_[1] = 0;
    const std::string side = std::to_string(size);
    int row = 0, column = 0;
    std::size_t i = 0;
    for (; i < text.size() && text[i] != ' '; ++i) {
      const char c = text[i];
      if (c == '/') {
        if (column != size || row == size - 1)
          throw Error("a board has " + side + " rows of " + side + " cells");
        ++row, column = 0;
      } else if (std::isdigit(static_cast<unsigned char>(c))) {
        column += c - '0';
      } else if (c == 'x' || c == 'o') {
        if (column >= size) throw Error("a row has " + side + " cells");
        state.discs_[c == 'o'] |= bit(row, column++);
      } else {
        throw Error("a board is written with x, o, digits and /, not '" + std::string(1, c) + "'");
      }
      if (column > size) throw Error("a row has " + side + " cells");
    }
    if (row != size - 1 || column != size)
      throw Error("a board has " + side + " rows of " + side + " cells");
    if (text.substr(i) != " x" && text.substr(i) != " o")
      throw Error("after the board comes x or o");
    state.to_play_ = text.back() == 'o';
    state.update_moves();
    return state;
  }

  std::string to_text() const {
    std::string text;
    for (int row = 0; row < size_; ++row) {
      int empty = 0;
      for (int column = 0; column < size_; ++column) {
        const std::uint64_t cell = bit(row, column);
        if (!((discs_[0] | discs_[1]) & cell)) {
          ++empty;
          continue;
        }
        if (empty) text += static_cast<char>('0' + empty);
        empty = 0;
        text += discs_[0] & cell ? 'x' : 'o';
      }
      if (empty) text += static_cast<char>('0' + empty);
      text += row + 1 < size_ ? '/' : ' ';
    }
    return text + (to_play_ == 0 ? 'x' : 'o');
  }

  int size() const { return size_; }
  int action_size() const { return size_ * size_ + 1; }
  int to_play() const { return to_play_; }
  int plies() const { return plies_; }

  void legal_actions(std::vector<Action>& actions) const {
    actions.clear();
    for (std::uint64_t moves = moves_; moves; moves &= moves - 1) {
      const int cell = std::countr_zero(moves);
      actions.push_back(cell / 8 * size_ + cell % 8);
    }
    if (must_pass()) actions.push_back(size_ * size_);
  }
  bool is_legal(Action action) const {
    return action == size_ * size_ ? must_pass()
                                   : (moves_ & bit(action / size_, action % size_)) != 0;
  }

  void play(Action action) {
    if (action != size_ * size_) {
      const std::uint64_t cell = bit(action / size_, action % size_);
      const std::uint64_t flipped = flips(cell, discs_[to_play_], discs_[1 - to_play_]);
      discs_[to_play_] |= cell | flipped;
      discs_[1 - to_play_] &= ~flipped;
    }
    to_play_ ^= 1;
    ++plies_;
    update_moves();
  }

  std::optional<float> result() const {
    if (!over_) return std::nullopt;
    const int lead = std::popcount(discs_[0]) - std::popcount(discs_[1]);
    return lead > 0 ? 1.0F : lead < 0 ? -1.0F : 0.0F;
  }
  std::string_view end_reason() const { return over_ ? "no moves left" : ""; }

  std::uint64_t position_key() const {
    return hash_combine(hash_combine(mix(discs_[0]), discs_[1]), to_play_);
  }
  std::uint64_t observation_key() const { return position_key(); }

  Shape observation_shape(Encoding) const { return {3, size_, size_}; }
  void pack(Encoding, PackedPlanes& packed) const {
    packed.bits = {compact(discs_[to_play_]), compact(discs_[1 - to_play_])};
    packed.constants = {1.0F};
  }
  void observe(Encoding encoding, std::span<float> planes) const {
    const std::uint64_t bits[2] = {compact(discs_[to_play_]), compact(discs_[1 - to_play_])};
    const float one[1] = {1.0F};
    unpack_planes(bits, one, observation_shape(encoding).cells(), planes);
  }

 private:
  static constexpr std::uint64_t bit(int row, int column) {
    return std::uint64_t{1} << (8 * row + column);
  }
  static constexpr std::uint64_t kNotFirstColumn = 0xFEFEFEFEFEFEFEFEULL;
  static constexpr std::uint64_t kNotLastColumn = 0x7F7F7F7F7F7F7F7FULL;
  static constexpr int kSteps[8] = {1, -1, 8, -8, 9, -9, 7, -7};

  /// All cells one step further; a step that would cross the left or right edge vanishes.
  static std::uint64_t shift(std::uint64_t cells, int step) {
    if (step == 1 || step == 9 || step == -7) cells &= kNotLastColumn;
    if (step == -1 || step == -9 || step == 7) cells &= kNotFirstColumn;
    return step > 0 ? cells << step : cells >> -step;
  }

  /// Discs turned by a move on `cell`.
  static std::uint64_t flips(std::uint64_t cell, std::uint64_t own, std::uint64_t other) {
    std::uint64_t all = 0;
    for (const int step : kSteps) {
      std::uint64_t line = 0;
      std::uint64_t next = shift(cell, step);
      for (; next & other; next = shift(next, step)) line |= next;
      if (next & own) all |= line;
    }
    return all;
  }

  static std::uint64_t moves_of(std::uint64_t own, std::uint64_t other, std::uint64_t empty) {
    std::uint64_t moves = 0;
    for (const int step : kSteps) {
      std::uint64_t line = shift(own, step) & other;
      for (int i = 0; i < 5; ++i) line |= shift(line, step) & other;
      moves |= shift(line, step) & empty;
    }
    return moves;
  }

  bool must_pass() const { return !moves_ && !over_; }

  void update_moves() {
    std::uint64_t board = 0;
    for (int row = 0; row < size_; ++row) board |= ((std::uint64_t{1} << size_) - 1) << (8 * row);
    const std::uint64_t own = discs_[to_play_], other = discs_[1 - to_play_];
    const std::uint64_t empty = board & ~(own | other);
    moves_ = moves_of(own, other, empty);
    over_ = !moves_ && !moves_of(other, own, empty);
  }

  /// The upper left size x size corner as row-major bits.
  std::uint64_t compact(std::uint64_t cells) const {
    if (size_ == 8) return cells;
    std::uint64_t packed = 0;
    const std::uint64_t row_mask = (std::uint64_t{1} << size_) - 1;
    for (int row = 0; row < size_; ++row)
      packed |= ((cells >> (8 * row)) & row_mask) << (size_ * row);
    return packed;
  }

  std::uint64_t discs_[2] = {0, 0};
  std::uint64_t moves_ = 0;  ///< where the side to move may place a disc
  int size_;
  int plies_ = 0;
  int to_play_ = 0;
  bool over_ = false;
};

static_assert(PackedGame<Othello>);

}  // namespace zerogames
