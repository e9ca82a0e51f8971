// Perft of known positions, random games with invariants and hostile text; run under sanitizers by
// ctest.

#include <random>

#include "perft.hpp"
#include "state.hpp"
#include "zerogames/game_test.hpp"

using namespace zerogames;
using chess::State;

namespace {

/// perft by playing listed actions through State, which shares no counting code with perft().
std::uint64_t count_by_playing(const State& state, int depth) {
  if (depth == 0) return 1;
  std::uint64_t nodes = 0;
  std::vector<Action> actions;
  state.legal_actions(actions);
  for (const Action action : actions) {
    State next = state;
    next.play(action);
    nodes += count_by_playing(next, depth - 1);
  }
  return nodes;
}

struct Known {
  const char* fen;
  int depth;
  std::uint64_t nodes;
};
constexpr Known kKnown[] = {
    {"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", 4, 197281},
    {"r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1", 3, 97862},
    {"8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1", 5, 674624},
    {"r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1", 4, 422333},
    {"rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8", 3, 62379},
    {"r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10", 3, 89890},
};

/// Positions with a few letters changed or swapped: refused, or read as a position that holds
/// together.
void check_damaged_fens(int rounds) {
  constexpr std::string_view letters = "pnbrqkPNBRQK12345678/ wbKQkqABCDEFGHacefgh-036";
  std::mt19937 random(3);
  std::vector<Action> actions;
  int read = 0;
  for (int round = 0; round < rounds; ++round) {
    std::string text = kKnown[random() % std::size(kKnown)].fen;
    for (unsigned changes = 1 + random() % 3; changes > 0; --changes) {
      char& letter = text[random() % text.size()];
      if (random() % 4 == 0) {
        letter = letters[random() % letters.size()];
      } else {
        std::swap(letter, text[random() % text.size()]);
      }
    }
    try {
      const State state = State::from_fen(text, round % 2 == 0);
      state.legal_actions(actions);
      const auto listed = static_cast<int>(actions.size());
      check(state.result() || listed == chess::count_moves(state.board()), "listed and counted");
      const std::string fen = chess::format_fen(state.board());
      check(chess::parse_fen(fen, round % 2 == 0).key() == state.position_key(), "reads back");
      for (const Action action : actions) {
        const auto move = chess::move_of(state.board(), action);
        const std::string uci = chess::format_uci(state.board(), move);
        check(chess::parse_uci(state.board(), state.checks(), uci) == move, "UCI reads back");
        State next = state;
        next.play(action);
      }
      ++read;
    } catch (const Error&) {
    }
  }
  check(read > rounds / 20, "some damaged positions can still be read");
}

}  // namespace

int main() {
  for (const Known& known : kKnown) {
    check(chess::perft(chess::parse_fen(known.fen), known.depth) == known.nodes, known.fen);
    const State state = State::from_fen(known.fen);
    check(count_by_playing(state, 2) == chess::perft(state.board(), 2), known.fen);
    check_random_games(state, {}, {.games = 3, .seed = 7});
  }
  check_random_games(State(), {}, {.games = 8});
  // King and rooks in the middle, Black's rights as a file letter.
  check_random_games(State::from_fen("1r1kr3/pppp4/8/8/8/8/4PPPP/1R1KR3 w EBeb - 0 1", true),
                     {chess::HistoryFill::kNo}, {.games = 4});
  for (Action action = 0; action < chess::kNumActions; ++action) {
    check(chess::action_of(chess::detail::kPolicy.moves[action]) == action, "policy round trip");
  }
  for (const char* fen : {
           "",
           "8/8/8/8/8/8/8/8 w - - 0 1",
           "k7/8/8/8/8/8/8/KK6 w - - 0 1",
           "k7/8/8/8/8/8/8/KP6 w - - 0 1",
           "kR6/8/8/8/8/8/8/K7 w - - 0 1",
           "k7/8/8/8/8/8/8/K7 w K - 0 1",
           "k7/8/8/8/8/8/8/K7 w - e6 0 1",
           "k7/8/8/8/8/8/8/K7 w - - x 1",
           "k7/8/8/8/8/8/8/K7 w - - 0 0",
           "k7/8/8/8/8/8/8/K8 w - - 0 1",
           "k7/8/8/8/8/8/8/K61 w - - 0 1",
           "4k3/8/8/8/8/8/8/1R1K4 w B - 0 1",
       }) {
    check_throws([&] { chess::parse_fen(fen); });
  }
  check_damaged_fens(5000);
  const State start;
  for (const char* text : {"", "e2", "e2e5", "e2e4q", "e7e5", "i1i2", "e1g1", "0000", "e2e4qq"}) {
    check_throws([&] { chess::parse_uci(start.board(), start.checks(), text); });
  }
  return report_checks();
}
