#pragma once

#include "renju.hpp"
#include "stones.hpp"

namespace zerogames::boards {

/// Gomoku on 5x5 to 19x19: five in a row win. Action = row * size + column, row 0 at the bottom.
class Gomoku {
 public:
  enum class Rule {
    kFreestyle,  ///< five or more win
    kStandard,   ///< exactly five win
    kRenju,      ///< exactly five win for Black, who may not make what RenjuJudge forbids
  };

  /// The one encoding, "stones": own stones, the opponent's, whether Black is to move, ones.
  struct Encoding {};
  static Encoding parse_encoding(std::string_view text) {
    return require_encoding("gomoku", "stones", text), Encoding{};
  }

  explicit Gomoku(int size = 15, std::string_view rule = "freestyle") : board_(size) {
    if (size < 5 || size > Stones::kMaxSize) throw Error("gomoku is played on 5x5 to 19x19");
    if (rule != "freestyle" && rule != "standard" && rule != "renju") {
      throw Error("the rule is freestyle, standard or renju");
    }
    rule_ = rule == "freestyle"  ? Rule::kFreestyle
            : rule == "standard" ? Rule::kStandard
                                 : Rule::kRenju;
  }

  /// Rows from the top, numbers for empty cells, then the side to move: "5/5/2x2/5/5 o".
  static Gomoku from_text(int size, std::string_view rule, std::string_view text) {
    Gomoku state(size, rule);
    int winner = -1;
    const auto rest = state.board_.read(text, [&](int cell, int side) {
      if (!state.wins(cell, side)) return;
      if (winner == 1 - side) throw Error("both sides have won");
      winner = side;
    });
    state.to_play_ = read_side(rest, "xo");
    if (state.board_.count(0) - state.board_.count(1) != state.to_play_) {
      throw Error("the stones do not fit the side to move: x moves first");
    }
    if (winner == state.to_play_) throw Error("the side to move has won already");
    state.won_ = winner >= 0;
    state.stuck_ = !state.won_ && !state.any_legal();
    return state;
  }
  std::string to_text() const { return board_.to_text() + (to_play_ == 0 ? " x" : " o"); }

  int action_size() const { return board_.num_cells(); }
  int to_play() const { return to_play_; }
  int plies() const { return plies_; }

  void legal_actions(std::vector<Action>& actions) const {
    actions.clear();
    if (won_ || stuck_) return;
    board_.list_empty(actions);
    if (has_forbidden()) {
      std::erase_if(actions, [&](int cell) { return RenjuJudge::is_forbidden(board_, cell); });
    }
  }
  bool is_legal(Action cell) const {
    return !won_ && board_.is_empty(cell) &&
           !(has_forbidden() && RenjuJudge::is_forbidden(board_, cell));
  }

  void play(Action cell) {
    board_.add(cell, to_play_);
    won_ = wins(cell, to_play_);
    to_play_ ^= 1;
    ++plies_;
    stuck_ = !won_ && !any_legal();
  }

  std::optional<float> result() const {
    if (won_) return to_play_ == 1 ? 1.0F : -1.0F;
    if (stuck_) return 0.0F;
    return std::nullopt;
  }
  std::string_view end_reason() const {
    return won_ ? "five in a row" : stuck_ ? board_.full() ? "board full" : "no move left" : "";
  }

  std::uint64_t position_key() const {
    return hash_combine(board_.key(), static_cast<std::uint64_t>(to_play_));
  }
  std::uint64_t observation_key() const { return position_key(); }

  Shape observation_shape(Encoding) const { return {4, board_.size(), board_.size()}; }
  void pack(Encoding, PackedPlanes& packed) const {
    packed.bits.clear();
    board_.of(to_play_).append_to(packed, board_.num_cells());
    board_.of(1 - to_play_).append_to(packed, board_.num_cells());
    packed.constants = {to_play_ == 0 ? 1.0F : 0.0F, 1.0F};
  }
  void observe(Encoding encoding, std::span<float> planes) const {
    observe_packed(*this, encoding, planes);
  }

 private:
  bool has_forbidden() const { return rule_ == Rule::kRenju && to_play_ == 0; }

  /// The stone of `side` at `cell` completes a row that wins.
  bool wins(int cell, int side) const {
    const bool exactly = rule_ == Rule::kStandard || (rule_ == Rule::kRenju && side == 0);
    for (const auto direction : Stones::kDirections) {
      const int length = board_.row_length(cell, side, direction);
      if (exactly ? length == 5 : length >= 5) return true;
    }
    return false;
  }

  bool any_legal() const {
    if (board_.full() || !has_forbidden()) return !board_.full();
    for (int cell = 0; cell < board_.num_cells(); ++cell) {
      if (board_.is_empty(cell) && !RenjuJudge::is_forbidden(board_, cell)) return true;
    }
    return false;
  }

  Stones board_;
  Rule rule_ = Rule::kFreestyle;
  int plies_ = 0;
  int to_play_ = 0;
  bool won_ = false;
  bool stuck_ = false;  ///< nobody has won and there is no move
};

static_assert(PackedGame<Gomoku>);

}  // namespace zerogames::boards
