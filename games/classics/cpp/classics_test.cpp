// Random games with invariants; run under sanitizers by ctest.

#include "connect_four.hpp"
#include "connect_four_solver.hpp"
#include "othello.hpp"
#include "zerogames/game_test.hpp"

using namespace zerogames;

int main() {
  check_random_games(ConnectFour(), ConnectFour::parse_encoding("stones"), {.games = 500});
  for (const int size : {4, 6, 8}) {
    check_random_games(Othello(size), Othello::parse_encoding("stones"), {.games = 200});
  }
  check_random_games(ConnectFour::from_text("7/7/7/7/3x3/2oxo2 x"), {}, {.games = 50});
  check_throws([] { ConnectFour::from_text("7/7/7/3x3/7/7 o"); });
  check_throws([] { ConnectFour::from_text("8/7/7/7/7/7 x"); });
  check_throws([] { Othello::from_text(8, "8/8 x"); });

  ConnectFour middle;  // known: the fourth column draws, all others lose
  for (const Action column : {1, 6, 3, 4, 4, 1, 1, 1, 3, 0, 2, 0, 5, 5, 0}) middle.play(column);
  ConnectFourSolver solver(1 << 12);
  check(solver.score(middle) == 0, "the score of a drawn position");
  middle.play(0);
  check(solver.score(middle) == 9, "the score of a won position");
  return report_checks();
}
