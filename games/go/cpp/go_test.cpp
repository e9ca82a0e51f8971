// Random games with invariants, undoing, ladders and SGF; run under sanitizers by ctest.

#include <string>

#include "playout.hpp"
#include "sgf_game.hpp"
#include "state.hpp"
#include "zerogames/game_test.hpp"

using namespace zerogames;
using namespace zerogames::go;

namespace {

/// All that one can ask a board about its chains.
std::vector<int> describe(const Board& board) {
  std::vector<int> all;
  for (int i = 0; i < board.area(); ++i) {
    const auto point = static_cast<Point>(i);
    all.push_back(board.colour(point));
    if (board.colour(point) == kEmpty) continue;
    const Point head = board.head(point);
    Point liberties[kMaxArea];
    all.insert(all.end(), {head, board.chain_size(head), board.in_atari(head),
                           board.liberties(head, liberties, kMaxArea)});
    board.for_each_stone(point, [&](Point stone) { all.push_back(stone); });
  }
  return all;
}

/// Placing and undoing any legal move restores everything; counts by contacts are right.
void check_undo(const State& state, std::mt19937& random) {
  Board board = state.board();
  const std::vector<int> before = describe(board);
  std::vector<Placement> done;
  Colour player = static_cast<Colour>(state.to_play());
  for (int i = 0; i < 20; ++i, player = opponent(player)) {
    const auto point = static_cast<Point>(random() % board.area());
    if (board.colour(point) != kEmpty || board.effect(point, player).suicide()) continue;
    board.place(point, player, done.emplace_back());
    for (int p = 0; p < board.area(); ++p) {
      if (board.colour(static_cast<Point>(p)) == kEmpty) continue;
      const Point head = board.head(static_cast<Point>(p));
      Point liberties[kMaxArea];
      const int count = board.liberties(head, liberties, kMaxArea);
      check(count > 0 && board.in_atari(head) == (count == 1), "contacts tell atari");
      check(count != 1 || board.only_liberty(head) == liberties[0], "the only liberty");
    }
  }
  for (; !done.empty(); done.pop_back()) board.undo(done.back());
  check(describe(board) == before && board.hash() == state.board().hash(), "undo restores");
}

/// Stones that are unconditionally alive stay, however long the opponent alone moves.
void check_life(const State& state, std::mt19937& random) {
  for (const Colour player : {kBlack, kWhite}) {
    const Points alive = unconditionally_alive(state.board(), player);
    Board board = state.board();
    for (int i = 0; i < 4 * board.area(); ++i) {
      const auto point = static_cast<Point>(random() % board.area());
      if (board.colour(point) != kEmpty || board.effect(point, opponent(player)).suicide())
        continue;
      Placement done;
      board.place(point, opponent(player), done);
    }
    check(!(alive - board.stones(player)).any(), "the opponent alone captures nothing alive");
  }
}

/// Playouts end on boards where both sides have nothing sensible left.
void check_playout(const State& state, std::uint64_t seed) {
  const Board end = Playout(seed).run(state.board(), static_cast<Colour>(state.to_play()));
  int open = 0;
  end.empty().for_each([&](Point point) {
    for (const Colour player : {kBlack, kWhite}) {
      open += !is_own_eye(end, point, player) && !end.effect(point, player).suicide();
    }
  });
  check(open <= 1, "only a ko may be left open");
  for (const float owner : playout_ownership(state.board(), kBlack, 4, seed)) {
    check(owner >= -1 && owner <= 1, "ownership is a mean of owners");
  }
}

/// The turn may go to either side, also after the end, and history stays.
void check_turns(State state) {
  const int plies = state.plies();
  const auto other = opponent(static_cast<Colour>(state.to_play()));
  state.give_turn_to(other);
  check(state.to_play() == other && state.plies() == plies + 1, "a change of turn is a ply");
  state.play(state.size() * state.size());
  state.play(state.size() * state.size());
  check(state.is_over(), "two passes end the game");
  state.give_turn_to(kWhite);
  check(!state.is_over() && state.to_play() == kWhite, "it may continue");
}

void check_games(int size, const Rules& rules, int games) {
  std::mt19937 random(static_cast<unsigned>(size));
  std::vector<Action> actions;
  for (int game = 0; game < games; ++game) {
    State state(size, rules);
    while (!state.is_over()) {
      state.legal_actions(actions);
      if (state.plies() % 13 == 5) {
        check_undo(state, random);
        check_life(state, random);
        check_turns(state);
        if (state.plies() > 2 * size) check_playout(state, random());
        const std::string text = state_to_sgf(state);
        const State again = state_from_sgf(size, rules, text);
        check(state_to_sgf(again) == text, "a position reads back");
        std::vector<Action> legal;
        again.legal_actions(legal);
        check(legal == actions, "with its legal actions");
      }
      state.play(actions[random() % actions.size()]);
    }
  }
}

void check_sgf() {
  SgfLine line;
  const std::string deep = "(;SZ[9]" + std::string(100'000, '(');
  check_throws([&] { SgfParser(deep).next(line); });
  SgfParser parser("(;SZ[9];B[aa];W[bb](;B[cc])(;B[dd]))", true);
  check(parser.next(line) && parser.next(line) && !parser.next(line), "two lines");
  std::mt19937 random(5);
  const std::string alphabet = "()[];:\\ BWACSZ9aceg";
  for (int i = 0; i < 20'000; ++i) {
    std::string text = "(;SZ[5]";
    for (unsigned n = random() % 60; n > 0; --n) text += alphabet[random() % alphabet.size()];
    text += ")";
    for (const bool all_lines : {false, true}) {
      SgfParser garbage(text, all_lines);
      try {
        while (garbage.next(line)) {
          std::vector<Action> actions;
          const SgfGame game(line);
          game.replay(game.start({}), actions);
        }
      } catch (const Error&) {
        continue;
      }
    }
  }
}

}  // namespace

int main() {
  const auto golois = State::parse_encoding("golois-21");
  for (const int size : {2, 3, 5, 9}) {
    check_random_games(State(size), golois, {.games = 4});
    check_random_games(State(size, {.ko = Ko::kSimple, .suicide = false}),
                       State::parse_encoding("leela-18:history=repeat"), {.games = 4});
    check_games(size, {}, 3);
    check_games(size, {.ko = Ko::kSituational}, 3);
    check_games(size, {.ko = Ko::kSimple, .suicide = false}, 3);
  }
  check_random_games(State(19), golois, {.games = 1});
  check_games(25, {}, 1);
  check_sgf();
  check_throws([] { State(1); });
  check_throws([] { State(26); });
  check_throws([] {
    State::parse_encoding(
        "golois-21:"
        "ladder-nodes=-1");
  });
  check_throws([] { fixed_handicap(9, 10); });
  return report_checks();
}
