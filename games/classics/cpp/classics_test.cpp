// Random games with invariants; run under sanitizers by ctest.

#include "connect_four.hpp"
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
  return report_checks();
}
