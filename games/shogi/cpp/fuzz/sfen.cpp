// SFEN and USI moves: a position that is read is written and read again as itself, and a legal move
// leads to a position that can be written.
// The first line is the SFEN, each further line a move.

#include "../state.hpp"
#include "zerogames/fuzz.hpp"

using namespace zerogames;
using namespace zerogames::shogi;

static void fuzz(std::string_view text) {
  const auto end = text.find('\n');
  State state;
  try {
    state = State::from_sfen(text.substr(0, end));
  } catch (const Error&) {
    return;
  }
  const std::string sfen = format_sfen(state.board());
  require(format_sfen(parse_sfen(sfen)) == sfen);
  std::string_view rest = end == text.npos ? std::string_view() : text.substr(end + 1);
  while (!rest.empty() && !state.result()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const Move move = parse_usi(state.board(), state.checks(), line);
    const Action action = action_of(state.board(), move);
    require(state.is_legal(action));
    require(move_of(state.board(), action) == move);
    state.play(action);
    Board again = parse_sfen(format_sfen(state.board()));
    require(again.key == state.board().key);
  }
}
ZEROGAMES_FUZZ_TARGET(fuzz)
