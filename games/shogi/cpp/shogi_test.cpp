// Perft of known positions, random games beside plain rules, ends of games and hostile text; run
// under sanitizers by ctest.

#include <random>

#include "perft.hpp"
#include "plain_rules.hpp"
#include "state.hpp"
#include "zerogames/game_test.hpp"

using namespace zerogames;
using namespace zerogames::shogi;

namespace {

struct Known {
  const char* sfen;
  int depth;
  std::uint64_t nodes;
};
constexpr Known kKnown[] = {
    {"lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1", 4, 719731},
    {"l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1", 2, 28684},
    // The most moves that a position can have.
    {"R8/2K1S1SSk/4B4/9/9/9/9/9/1L1L1L3 b RBGSNLP3g3n17p 1", 2, 105677},
};

/// The moves of the fast rules are those of the plain ones, forwards and backwards.
void check_moves(const State& state) {
  const Board& board = state.board();
  std::vector<Action> actions;
  state.legal_actions(actions);
  const std::vector<Move> moves = plain::legal_moves(board);
  if (state.result()) {
    check(actions.empty(), "no actions at the end");
    return;
  }
  check(actions.size() == moves.size(), "as many moves as by the plain rules");
  for (const Move move : moves) {
    const Action action = action_of(board, move);
    check(std::binary_search(actions.begin(), actions.end(), action), "a plain move is listed");
    check(move_of(board, action) == move, "an action is one move");
    check(parse_usi(board, state.checks(), format_usi(move)) == move, "USI reads back");
  }
  check(state.in_check() == plain::king_can_be_taken(board, board.side), "check");
}

/// What is kept in step with the squares is what they give anew.
void check_board(const Board& board) {
  const Board again = parse_sfen(format_sfen(board));
  check(again.key == board.key && again.movers == board.movers && again.sides == board.sides,
        "a position reads back");
  check(again.squares == board.squares && again.hands == board.hands, "its pieces too");
}

void check_plain(const char* sfen, int games, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Action> actions;
  for (int game = 0; game < games; ++game) {
    State state = State::from_sfen(sfen);
    while (!state.result() && state.plies() < 250) {
      check_moves(state);
      check_board(state.board());
      state.legal_actions(actions);
      state.play(actions[random() % actions.size()]);
    }
    check_moves(state);
  }
}

State after(State state, std::initializer_list<const char*> moves) {
  for (const char* text : moves) {
    state.play(action_of(state.board(), parse_usi(state.board(), state.checks(), text)));
  }
  return state;
}

void check_ends() {
  // Both rooks go to and fro.
  State state;
  for (int round = 0; round < 3; ++round) {
    check(!state.result(), "three occurrences are no draw yet");
    state = after(state, {"2h3h", "8b7b", "3h2h", "7b8b"});
    check(state.repetitions() == round + 1 && state.plies_since_repetition() == 4, "repeated");
  }
  check(state.result() == 0.0F && state.end_reason() == "repetition", "repetition");

  // Black's rook checks all the time: Black loses.
  state = State::from_sfen("4k4/9/9/9/9/9/9/R8/4K4 b - 1");
  state = after(state, {"9h5h"});
  for (int round = 0; !state.result(); ++round) {
    check(round < 3, "the fourth occurrence ends it");
    state = after(state, {"5a4a", "5h4h", "4a5a", "4h5h"});
  }
  check(state.result() == -1.0F && state.end_reason() == "perpetual check", "perpetual check");
  check(state.plies_since_repetition() == 0, "which the search must not take for a draw");

  // A pawn put before the king must not mate; a pawn that walks there may, and so may a lance.
  const State drop = State::from_sfen("8k/9/6NG1/9/9/9/9/9/4K4 b LP 1");
  check_throws([&] { parse_usi(drop.board(), drop.checks(), "P*1b"); });
  check(after(drop, {"L*1b"}).end_reason() == "checkmate", "a lance may mate");
  check(!after(State::from_sfen("8k/9/7G1/9/9/9/9/9/4K4 b P 1"), {"P*1b"}).result(), "a check");
  const State walked = after(State::from_sfen("8k/9/6NGP/9/9/9/9/9/4K4 b - 1"), {"1c1b"});
  check(walked.result() == 1.0F && walked.end_reason() == "checkmate", "checkmate");

  // Ten other pieces in the zone, and 28 points for Black, 27 for White.
  const State entered = State::from_sfen("1SGKGS3/9/RBGNSNLL1/9/9/9/9/9/4k4 b R3P 1");
  check(entered.result() == 1.0F && entered.end_reason() == "entering king", "28 points");
  check(!State::from_sfen("1SGKGS3/9/RBGNSNLL1/9/9/9/9/9/4k4 b R2P 1").result(), "27 points");
  const State white = State::from_sfen("4K4/9/9/9/9/9/1llnsngbr/9/3sgkgs1 w r2p 1");
  check(white.result() == -1.0F && white.end_reason() == "entering king", "27 points for White");
  check(!State::from_sfen(format_sfen(entered.board()), {.declaration = false}).result(),
        "without the rule");
  check(!State::from_sfen("3K5/RB7/9/9/9/9/9/9/4k4 b RB4G4S4N4L9P 1").result(), "two inside");
  check(!State::from_sfen("1SGGS1K1r/9/+RBGNSNLL1/9/9/9/9/9/4k4 b 9P 1").result(), "in check");
  check(!State::from_sfen("1SG1GS3/9/RBGNSNLL1/3K5/9/9/9/9/4k4 b R9P 1").result(), "outside");

  const State limited = State::from_sfen(kStartSfen, {.max_plies = 2});
  check(after(limited, {"7g7f", "3c3d"}).end_reason() == "move limit", "move limit");
  check_throws([] { State::from_sfen(kStartSfen, {.max_plies = 0}); });
  check_throws([] { State::from_sfen(kStartSfen, {.max_plies = kMostPlies + 1}); });
  check(!State::from_sfen(kStartSfen, {.max_plies = kMostPlies}).result(), "the longest games");
}

/// Positions with a few letters changed or swapped: refused, or read as a position that holds
/// together.
void check_damaged_sfens(int rounds) {
  constexpr std::string_view letters = "plnsgbrkPLNSGBRK123456789+/ wb-0";
  std::mt19937 random(3);
  int read = 0;
  for (int round = 0; round < rounds; ++round) {
    std::string text = kKnown[random() % std::size(kKnown)].sfen;
    for (unsigned changes = 1 + random() % 3; changes > 0; --changes) {
      char& letter = text[random() % text.size()];
      if (random() % 4 == 0) {
        letter = letters[random() % letters.size()];
      } else {
        std::swap(letter, text[random() % text.size()]);
      }
    }
    try {
      const State state = State::from_sfen(text);
      check_board(state.board());
      check_moves(state);
      ++read;
    } catch (const Error&) {
    }
  }
  check(read > rounds / 20, "some damaged positions can still be read");
}

}  // namespace

int main() {
  for (const Known& known : kKnown) {
    check(perft(parse_sfen(known.sfen), known.depth) == known.nodes, known.sfen);
    check_plain(known.sfen, 2, 5);
    check_random_games(State::from_sfen(known.sfen), {}, {.games = 2, .seed = 7});
  }
  // Two-piece handicap: White begins.
  check_random_games(
      State::from_sfen("lnsgkgsnl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"), {},
      {.games = 2});
  check_ends();
  for (const char* sfen : {
           "",
           "9/9/9/9/9/9/9/9/9 b - 1",
           "4k4/9/9/9/9/9/9/9/4K4 b",
           "4k4/9/9/9/9/9/9/9/4K4 x - 1",
           "4k4/9/9/9/9/9/9/9/4K4 b x 1",
           "4k4/9/9/9/9/9/9/9/4K4 b 2 1",
           "4k4/9/9/9/9/9/9/9/4K4 b 19P 1",
           "4k4/9/9/9/9/9/9/9/4K4 b 3R 1",
           "4k4/9/9/9/9/9/9/9/4K4 b PP 1",
           "4k4/9/9/9/9/9/9/9/4K4 b K 1",
           "4k4/9/9/9/9/9/9/9/4K4 b - 0",
           "4k4/9/9/9/9/9/9/9/4K4 b - 1 1",
           "4k4/9/9/9/9/9/9/9/4K3+ b - 1",
           "4k4/9/9/9/9/9/9/9/4+K4 b - 1",
           "4k3P/9/9/9/9/9/9/9/4K4 b - 1",
           "4k4/8N/9/9/9/9/9/9/4K4 b - 1",
           "4k4/9/9/P8/9/P8/9/9/4K4 b - 1",
           "4k4/9/9/9/9/9/9/9/4K3K b - 1",
           "4k4/9/9/9/9/9/9/9/4K31 b - 1",
           "4k4/9/9/9/9/9/9/9/4K5 b - 1",
           "4k4/9/9/9/9/9/9/9/4K4/9 b - 1",
           "4k4/4R4/9/9/9/9/9/9/4K4 b - 1",
       }) {
    check_throws([&] { parse_sfen(sfen); });
  }
  check_damaged_sfens(3000);
  const State start;
  for (const char* text : {"", "7g", "7g7e", "7g7f+", "3c3d", "0g7f", "7g7j", "P*5e", "K*5e",
                           "7g7fx", "p*5e", "P*5e+", "resign"}) {
    check_throws([&] { parse_usi(start.board(), start.checks(), text); });
  }
  return report_checks();
}
