#pragma once

// Native conformance checks for any game, without a test framework:
//
//   int main() {
//     check_random_games(MyGame(), MyGame::parse_encoding("planes"), {.games = 100});
//     return report_checks();
//   }

#include <cstdio>
#include <random>
#include <source_location>
#include <vector>

#include "zerogames/error.hpp"
#include "zerogames/game.hpp"

namespace zerogames {

struct CheckCounts {
  long passed = 0;
  long failed = 0;
};
inline CheckCounts check_counts;

/// Counts a condition and names the line where it does not hold.
inline void check(bool holds, const char* what = "",
                  std::source_location where = std::source_location::current()) {
  if (holds) {
    ++check_counts.passed;
    return;
  }
  ++check_counts.failed;
  std::fprintf(stderr, "%s:%u: check failed: %s\n", where.file_name(), where.line(), what);
}

template <class Call>
void check_throws(Call call, std::source_location where = std::source_location::current()) {
  try {
    call();
  } catch (const Error&) {
    ++check_counts.passed;
    return;
  }
  check(false, "no Error was thrown", where);
}

/// Prints the counts; the exit code of a test program.
inline int report_checks() {
  std::printf("%ld passed, %ld failed\n", check_counts.passed, check_counts.failed);
  return check_counts.failed == 0 ? 0 : 1;
}

struct RandomGames {
  int games = 100;
  unsigned seed = 1;
  int max_plies = 1000;
};

/// Plays random games from `start` and checks what every game promises.
template <Game G>
void check_random_games(const G& start, const typename G::Encoding& encoding,
                        const RandomGames& options = {}) {
  std::mt19937 random(options.seed);
  std::vector<Action> actions;
  const Shape shape = start.observation_shape(encoding);
  std::vector<float> planes(shape.size()), again(shape.size());
  for (int game = 0; game < options.games; ++game) {
    G state = start;
    for (int ply = 0; ply < options.max_plies; ++ply) {
      state.legal_actions(actions);
      check(actions.empty() == state.result().has_value(), "no legal action exactly at the end");
      check(state.result().has_value() == !state.end_reason().empty(), "an end has a reason");
      if (actions.empty()) break;
      std::size_t next = 0;
      for (Action action = 0; action < state.action_size(); ++action) {
        const bool listed = next < actions.size() && actions[next] == action;
        next += listed;
        check(state.is_legal(action) == listed, "is_legal agrees with legal_actions");
      }
      check(next == actions.size(), "legal actions are ascending and in range");
      state.observe(encoding, planes);
      const G before = state;
      const auto key = state.observation_key();
      state.play(actions[random() % actions.size()]);
      before.observe(encoding, again);
      check(planes == again && before.observation_key() == key, "a copy does not change");
      check(state.plies() == before.plies() + 1, "plies count moves");
    }
  }
}

}  // namespace zerogames
