// SGF: a line that is a game replays, and its last position is written and read again as itself.

#include "../sgf_game.hpp"
#include "zerogames/fuzz.hpp"

using namespace zerogames;
using namespace zerogames::go;

static void read_lines(std::string_view text, bool all_lines) {
  SgfParser parser(text, all_lines);
  SgfLine line;
  for (std::size_t lines = 0; lines <= text.size(); ++lines) {
    try {
      if (!parser.next(line)) return;
      const SgfGame game(line);
      const Rules rules{.komi = 7.5F, .ko = Ko::kPositional, .suicide = false, .max_plies = 1000};
      std::vector<Action> actions;
      const State state = game.replay(game.start(rules), actions);
      if (state.is_over()) continue;
      const std::string position = state_to_sgf(state);
      require(state_to_sgf(state_from_sgf(state.size(), state.rules(), position)) == position);
    } catch (const Error&) {
    }
  }
}

static void fuzz(std::string_view text) {
  read_lines(text, false);
  read_lines(text, true);
}
ZEROGAMES_FUZZ_TARGET(fuzz)
