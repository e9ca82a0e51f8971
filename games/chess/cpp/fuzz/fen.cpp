// FEN, UCI moves and SAN: a position that is read is written and read again as itself.
// The first line is the FEN, each further line a move in either notation.

#include "../data/san.hpp"
#include "zerogames/fuzz.hpp"

using namespace zerogames;
using namespace zerogames::chess;

static void fuzz(std::string_view text) {
  const auto end = text.find('\n');
  for (const bool chess960 : {false, true}) {
    State state;
    try {
      state = State::from_fen(text.substr(0, end), chess960);
    } catch (const Error&) {
      continue;
    }
    const std::string fen = format_fen(state.board());
    require(format_fen(State::from_fen(fen, chess960).board()) == fen);
    std::string_view rest = end == text.npos ? std::string_view() : text.substr(end + 1);
    while (!rest.empty() && !state.result()) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(rest.size(), line.size() + 1));
      Action action = parse_san(state, line);
      if (action == kNoAction) {
        action = action_of(parse_uci(state.board(), state.checks(), line));
      }
      require(state.is_legal(action));
      state.play(action);
    }
  }
}
ZEROGAMES_FUZZ_TARGET(fuzz)
