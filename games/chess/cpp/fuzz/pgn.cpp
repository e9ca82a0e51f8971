// PGN: the moves of a game without an error are legal from its start.

#include "../data/pgn.hpp"
#include "zerogames/fuzz.hpp"

using namespace zerogames;
using namespace zerogames::chess;

static void fuzz(std::string_view text) {
  for (const bool values : {false, true}) {
    PgnParser parser(text, PgnParts{.values = values, .comments = values});
    PgnGame game;
    std::size_t games = 0;
    while (parser.next(game)) {
      require(++games <= text.size());
      if (!game.error.empty()) continue;
      require(!values || game.values.size() == game.actions.size());
      State state = State::from_fen(game.start.empty() ? kStartFen : std::string_view(game.start),
                                    game.chess960);
      for (const Action action : game.actions) {
        require(!state.result() && state.is_legal(action));
        state.play(action);
      }
    }
  }
}
ZEROGAMES_FUZZ_TARGET(fuzz)
