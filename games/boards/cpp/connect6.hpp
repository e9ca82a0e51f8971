#pragma once

#include "stones.hpp"

namespace zerogames::boards {

/// Connect6 on 6x6 to 19x19: six or more in a row win. Black places one stone, then each side two a
/// turn, as two actions. Action = row * size + column, row 0 at the bottom.
class Connect6 {
 public:
  /// The one encoding, "stones": own stones, the opponent's, whether this is the first of two
  /// stones, ones.
  struct Encoding {};
  static Encoding parse_encoding(std::string_view text) {
    return require_encoding("connect6", "stones", text), Encoding{};
  }

  explicit Connect6(int size = 19) : board_(size) {
    if (size < 6 || size > Stones::kMaxSize) throw Error("connect6 is played on 6x6 to 19x19");
  }

  /// Rows from the top, numbers for empty cells; how many stones there are tells who is to move.
  /// The letter repeats it: "6/6/2x3/6/6/6 o".
  static Connect6 from_text(int size, std::string_view text) {
    Connect6 state(size);
    int winner = -1;
    const auto rest = state.board_.read(text, [&](int cell, int side) {
      if (state.board_.longest_row(cell, side) < 6) return;
      if (winner == 1 - side) throw Error("both sides have won");
      winner = side;
    });
    // A win ends the game at once: the letter is of the side that would go on.
    const int stones = state.board_.num_stones();
    const int white = state.board_.count(1);
    int expected_white = 0;
    for (int i = 0; i < stones; ++i) expected_white += (i + 1) / 2 % 2;
    if (white != expected_white || read_side(rest, "xo") != state.to_play()) {
      throw Error("the stones do not fit the side to move: x places one, then each side two");
    }
    const int last_side = stones > 0 ? stones / 2 % 2 : 0;
    if (winner >= 0 && winner != last_side) throw Error("the side that has won moved on");
    state.winner_ = winner;
    return state;
  }
  std::string to_text() const { return board_.to_text() + (to_play() == 0 ? " x" : " o"); }

  int action_size() const { return board_.num_cells(); }
  /// One stone, then two and two: 0, 1, 1, 0, 0, 1, 1, ...
  int to_play() const { return (board_.num_stones() + 1) / 2 % 2; }
  int plies() const { return plies_; }

  void legal_actions(std::vector<Action>& actions) const {
    actions.clear();
    if (winner_ < 0) board_.list_empty(actions);
  }
  bool is_legal(Action cell) const { return winner_ < 0 && board_.is_empty(cell); }

  void play(Action cell) {
    const int side = to_play();
    board_.add(cell, side);
    if (board_.longest_row(cell, side) >= 6) winner_ = side;
    ++plies_;
  }

  std::optional<float> result() const {
    if (winner_ >= 0) return winner_ == 0 ? 1.0F : -1.0F;
    if (board_.full()) return 0.0F;
    return std::nullopt;
  }
  std::string_view end_reason() const {
    return winner_ >= 0 ? "six in a row" : board_.full() ? "board full" : "";
  }

  std::uint64_t position_key() const { return board_.key(); }
  std::uint64_t observation_key() const { return position_key(); }

  Shape observation_shape(Encoding) const { return {4, board_.size(), board_.size()}; }
  void pack(Encoding, PackedPlanes& packed) const {
    packed.bits.clear();
    board_.of(to_play()).append_to(packed, board_.num_cells());
    board_.of(1 - to_play()).append_to(packed, board_.num_cells());
    packed.constants = {is_first_of_two() ? 1.0F : 0.0F, 1.0F};
  }
  void observe(Encoding encoding, std::span<float> planes) const {
    observe_packed(*this, encoding, planes);
  }

 private:
  bool is_first_of_two() const { return board_.num_stones() % 2 == 1; }

  Stones board_;
  int plies_ = 0;
  int winner_ = -1;
};

static_assert(PackedGame<Connect6>);

}  // namespace zerogames::boards
