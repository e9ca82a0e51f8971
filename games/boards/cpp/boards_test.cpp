// The board games under the sanitizers: random games, and the rules' corner cases.

#include "breakthrough.hpp"
#include "hex.hpp"
#include "zerogames/game_test.hpp"

using namespace zerogames;
using namespace zerogames::boards;

namespace {

template <Game G>
void check_texts(const G& start, auto read) {
  std::mt19937 random(7);
  std::vector<Action> actions;
  G state = start;
  for (;;) {
    const std::string text = state.to_text();
    const G again = read(text);
    check(again.to_text() == text && again.to_play() == state.to_play(), "text reads back");
    check(again.result() == state.result(), "with the result");
    state.legal_actions(actions);
    if (actions.empty()) return;
    state.play(actions[random() % actions.size()]);
  }
}

void check_hex() {
  for (const int size : {2, 3, 11, 19}) {
    for (const bool swap : {true, false}) {
      const Hex start(size, swap);
      check_random_games(start, Hex::parse_encoding("stones"), {.games = 20});
      check_texts(start, [&](std::string_view text) { return Hex::from_text(size, swap, text); });
    }
  }
  Hex state(3, true);
  check(!state.is_legal(9), "the first player cannot swap");
  state.play(1);  // b1
  state.play(9);
  check(state.to_text() == "3/o2/3 x", "the stone changes sides and is mirrored");
  check(!state.is_legal(9), "nobody swaps twice");
  check_throws([] { Hex::from_text(3, false, "3/o2/3 x"); });
  check_throws([] { Hex::from_text(3, true, "x2/x2/x1o x"); });
  check_throws([] { Hex(20, true); });
}

void check_breakthrough() {
  for (const auto& [rows, columns] : {std::pair(8, 8), {6, 6}, {5, 4}, {4, 2}, {8, 3}}) {
    const Breakthrough start(rows, columns);
    check_random_games(start, Breakthrough::parse_encoding("men"), {.games = 50});
    check_texts(
        start, [&](std::string_view text) { return Breakthrough::from_text(rows, columns, text); });
  }
  auto state = Breakthrough::from_text(4, 3, "3/bbb/1w1/3 w");
  std::vector<Action> actions;
  state.legal_actions(actions);
  check(actions == std::vector<Action>{4, 28}, "a man is blocked straight, and captures aslant");
  state.play(4);
  check(state.to_text() == "3/wbb/3/3 b", "the captured man is gone");
  state = Breakthrough::from_text(4, 3, "3/b2/1w1/3 w");
  state.play(4);
  check(state.result() == 1.0F && state.end_reason() == "all men taken", "the last man is taken");
  check_throws([] { Breakthrough::from_text(4, 3, "1w1/b2/3/3 w"); });
}

}  // namespace

int main() {
  check_hex();
  check_breakthrough();
  return report_checks();
}
