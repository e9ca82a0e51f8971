// The board games under the sanitizers: random games, and the rules' corner cases.

#include "amazons.hpp"
#include "ataxx.hpp"
#include "breakthrough.hpp"
#include "connect6.hpp"
#include "gomoku.hpp"
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

void check_amazons() {
  for (const int size : {4, 5, 10}) {
    const Amazons start(size);
    check_random_games(start, Amazons::parse_encoding("queens"), {.games = 20});
    check_texts(start, [&](std::string_view text) { return Amazons::from_text(size, text); });
  }
  auto state = Amazons::from_text(4, "4/4/xx2/w1x1 w");
  std::vector<Action> actions;
  state.play(0);
  check(state.to_play() == 0 && state.to_text() == "4/4/xx2/w1x1 w move a1",
        "the same side goes on");
  state.legal_actions(actions);
  check(actions == std::vector<Action>{1}, "arrows block");
  state.play(1);
  state.legal_actions(actions);
  check(actions == std::vector<Action>{0, 6, 11}, "the cell that it left is free");
  state.play(6);
  check(state.result() == 1.0F, "Black has no amazon that can move");
  check_throws([] { Amazons::from_text(4, "4/4/xx2/w1x1 w move b1"); });
  check_throws([] { Amazons::from_text(4, "4/4/4/w3 w jump a1"); });
}

void check_ataxx() {
  for (const int size : {4, 5, 7, 8}) {
    const Ataxx start(size, size == 5 ? std::uint64_t{1} << 12 : 0);
    check_random_games(start, Ataxx::parse_encoding("pieces"), {.games = 20});
    check_texts(start, [&](std::string_view text) { return Ataxx::from_text(size, text); });
  }
  auto state = Ataxx::from_text(4, "x3/4/1o2/o3 x 3");
  state.play(9);  // clone to b3, beside b2
  check(state.to_text() == "x3/1x2/1x2/o3 o 0", "the neighbour is turned, the count begins again");
  state = Ataxx::from_text(4, "xxxo/xxx1/xxx1/xxx1 o 0");
  check(state.is_legal(11) && !state.is_legal(17 * 16), "a clone, no pass");
  state = Ataxx::from_text(4, "o---/---x/---x/---1 o 0");
  std::vector<Action> actions;
  state.legal_actions(actions);
  check(actions == std::vector<Action>{17 * 16}, "a side that cannot move passes");
  state = Ataxx::from_text(4, "x3/4/4/3o x 99");
  state.play(3 * 16 + 12);  // a jump down
  check(state.result() == 0.0F, "nobody clones: a draw");
  check_throws([] { Ataxx::from_text(4, "x3/4/4/3o x 101"); });
  check_throws([] { Ataxx(4, 1); });
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

void check_gomoku() {
  for (const int size : {5, 9, 15, 19}) {
    for (const std::string_view rule : {"freestyle", "standard", "renju"}) {
      const Gomoku start(size, rule);
      check_random_games(start, Gomoku::parse_encoding("stones"), {.games = size < 10 ? 20 : 2});
      check_texts(start,
                  [&](std::string_view text) { return Gomoku::from_text(size, rule, text); });
    }
  }
  // Six in a row: a win, nothing, forbidden for Black.
  const std::string_view six = "7/7/xxx1xx1/7/7/1o1o1o1/o4o1 x";
  struct Case {
    const char* rule;
    bool legal;
    std::optional<float> result;
  };
  for (const Case& one : {Case{"freestyle", true, 1.0F}, Case{"standard", true, std::nullopt},
                          Case{"renju", false, std::nullopt}}) {
    auto state = Gomoku::from_text(7, one.rule, six);
    check(state.is_legal(31) == one.legal, one.rule);
    if (one.legal) state.play(31);
    check(state.result() == one.result, one.rule);
  }
  check_throws([] { Gomoku::from_text(5, "freestyle", "xxxxx/5/5/oooo1/5 x"); });
  check_throws([] { Gomoku(15, "swap2"); });
}

void check_connect6() {
  for (const int size : {6, 9, 19}) {
    const Connect6 start(size);
    check_random_games(start, Connect6::parse_encoding("stones"), {.games = size < 10 ? 20 : 2});
    check_texts(start, [&](std::string_view text) { return Connect6::from_text(size, text); });
  }
  Connect6 state(6);
  std::string sides;
  for (int cell = 0; cell < 7; ++cell) {
    sides += static_cast<char>('0' + state.to_play());
    state.play(6 * (cell % 6) + cell / 6 + 2 * (cell % 2));
  }
  check(sides == "0110011", "one stone, then two and two");
  check_throws([] { Connect6::from_text(6, "6/6/6/6/6/xx4 o"); });
}

}  // namespace

int main() {
  check_amazons();
  check_ataxx();
  check_hex();
  check_breakthrough();
  check_gomoku();
  check_connect6();
  return report_checks();
}
