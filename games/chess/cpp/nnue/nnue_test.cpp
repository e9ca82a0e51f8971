// Accumulators along random walks, records, damaged records and short searches; run under
// sanitizers by ctest.

#include "engine.hpp"
#include "record.hpp"
#include "sparse_layer.hpp"
#include "zerogames/game_test.hpp"

using namespace zerogames;
using namespace zerogames::chess;
using namespace zerogames::chess::nnue;

namespace {

struct RandomWeights {
  std::vector<std::int16_t> w1, b1;
  std::vector<std::int8_t> w2, w3, w4;
  std::vector<std::int32_t> b2, b3;

  RandomWeights(int n, int m, int o, int p) {
    std::mt19937 random(1);
    const auto fill = [&](auto& values, int size, int limit) {
      values.resize(size);
      for (auto& value : values) {
        value = static_cast<std::remove_reference_t<decltype(value)>>(
            static_cast<int>(random() % (2 * limit + 1)) - limit);
      }
    };
    fill(w1, n * m, 20), fill(b1, m, 100), fill(w2, 2 * m * o, 127), fill(b2, o, 8000);
    fill(w3, o * p, 127), fill(b3, p, 8000), fill(w4, p ? p : o, 127);
  }
  Weights weights() const { return {w1, b1, w2, b2, w3, b3, w4, 100}; }
};

const std::array<std::array<std::uint16_t, 2>, 3> kPairs = {{{156, 637}, {180, 661}, {0, 767}}};

Network make_network(const std::string& name, int m, int o, int p, std::string_view kernel = "") {
  FeatureSet features(name, kPairs);
  const RandomWeights random(features.size(), m, o, p);
  return Network(std::move(features), random.weights(), kernel);
}

std::vector<Board> random_line(std::mt19937& random, int plies) {
  std::vector<Board> line = {parse_fen(kStartFen)};
  for (int ply = 0; ply < plies; ++ply) {
    std::vector<Move> moves;
    const Board& board = line.back();
    for_each_move(board, find_checks(board), [&](Move move) { moves.push_back(move); });
    if (moves.empty()) break;
    Board next = board;
    next.play(moves[random() % moves.size()]);
    line.push_back(next);
  }
  return line;
}

void check_walks(const std::string& name) {
  const Network network = make_network(name, 33, 9, 5);
  const Network plain = make_network(name, 33, 9, 5, "scalar");
  AccumulatorStack walk(network), fresh(network), slow(plain);
  std::mt19937 random(2);
  for (int game = 0; game < 4; ++game) {
    const auto line = random_line(random, 120);
    walk.reset(line[0]);
    for (std::size_t at = 0; at + 1 < line.size();) {
      // Forwards most of the time; what was passed over is computed later or never.
      if (at > 0 && random() % 3 == 0) {
        walk.pop();
        --at;
      } else {
        walk.push(line[++at]);
      }
      if (random() % 2) continue;
      fresh.reset(line[at]);
      slow.reset(line[at]);
      const int score = walk.evaluate();
      check(score == fresh.evaluate() && score == slow.evaluate(), name.c_str());
      for (const bool black : {false, true}) {
        check(std::equal(walk.accumulator(black), walk.accumulator(black) + walk.width(),
                         fresh.accumulator(black)),
              name.c_str());
      }
    }
  }
}

void check_records() {
  std::mt19937 random(3);
  for (int game = 0; game < 20; ++game) {
    for (const Board& board : random_line(random, 80)) {
      const Record record = pack(board);
      const Board again = unpack(record);
      check(again.key() == board.key(), "a record keeps the position");
      Record best, other;
      check(!successors(record, 5, best, other), "no best move, no successors");
      Record damaged = record;
      for (int i = 0; i < 3; ++i)
        damaged.board[random() % 32] = static_cast<std::uint8_t>(random());
      damaged.move = static_cast<std::uint16_t>(random());
      try {
        if (successors(damaged, random(), best, other)) unpack(best), unpack(other);
      } catch (const Error&) {
        check(true);
      }
    }
  }
}

void check_searches() {
  const auto network = std::make_shared<const Network>(make_network("piece+kp", 16, 8, 0));
  Engine engine(network, 1);
  for (const char* fen : {
           "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
           "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
           "n1n5/PPPk4/8/8/8/8/4Kppp/5N1N b - - 0 1",
           "8/5k2/3p4/1p1Pp2p/pP2Pp1P/P4P1K/8/8 b - - 99 50",
       }) {
    engine.set_position(fen, {}, false);
    const auto found = engine.go({.nodes = 20'000}, [](const Engine::Found&) {});
    check(!found.line.empty() && found.info.nodes <= 20'000, fen);
    engine.go({.move_time_ms = 5}, [](const Engine::Found&) {});
  }
  engine.set_position("6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1", {}, false);
  const auto mate = engine.go({.depth = 3}, [](const Engine::Found&) {});
  check(mate.info.score == kMateScore - 1 && mate.line[0] == "a1a8", "mate in one");
  engine.set_position("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", {}, false);
  check_throws([&] { engine.go({.depth = 3}, [](const Engine::Found&) {}); });
  check_throws([&] { engine.set_hash(0); });
}

void check_history() {
  History history;
  const History::Context here{false, 100, 200}, elsewhere{false, 101, 201}, black{true, 100, 200};
  const std::uint16_t move = pack_move({12, 28});
  for (int i = 0; i < 1'000; ++i) history.add(here, move, 28, 1'600);
  const int most = history.value(here, move, 28);
  check(most > 2 * History::kLimit && most <= 3 * History::kLimit, "bounded");
  const int general = history.value(elsewhere, move, 28);
  check(general > 0 && general <= History::kLimit, "only the general part counts elsewhere");
  check(history.value(black, move, 28) == 0, "colours are apart");
  check(history.value(here, move, 29) < most, "another piece or square has not earned it");
  const History::Context none{false, kNoStep, kNoStep};
  history.add(none, move, kNoStep - 1, -50);
  check(history.value(none, move, kNoStep - 1) < general, "moves without moves before them");
  history.clear();
  check(history.value(here, move, 28) == 0, "forgotten");
}

void check_correction() {
  CorrectionHistory correction;
  const Board start = parse_fen(kStartFen);
  const Board pieces_moved =
      parse_fen("r1bqkbnr/pppppppp/2n5/8/8/5N2/PPPPPPPP/RNBQKB1R w KQkq - 2 2");
  const Board pawn_moved = parse_fen("rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1");
  for (int i = 0; i < 1'000; ++i) correction.learn(start, 50, 12);
  check(std::abs(correction.value(start) - 50) <= 1, "learns the difference");
  check(correction.value(pieces_moved) == correction.value(start), "the same pawns");
  check(correction.value(pawn_moved) == 0, "other pawns");
  for (int i = 0; i < 1'000; ++i) correction.learn(start, -20'000, 12);
  check(correction.value(start) < 0 && correction.value(start) > -1'000, "bounded");
  correction.clear();
  check(correction.value(start) == 0, "forgotten");
}

/// A search that is cut short anywhere says the move it plays in its last report.
void check_interrupted() {
  const auto network = std::make_shared<const Network>(make_network("piece", 16, 8, 0));
  Engine engine(network, 1);
  for (std::uint64_t nodes = 100; nodes < 20'000; nodes += 397) {
    engine.new_game();
    engine.set_position("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1", {},
                        false);
    std::string told;
    const auto found =
        engine.go({.nodes = nodes}, [&](const Engine::Found& now) { told = now.line.at(0); });
    check(told.empty() || told == found.line.at(0), "the last report has the best move");
  }
}

}  // namespace

int main() {
  for (const char* name :
       {"piece", "h+v+d1+d2", "kp", "relh+relv", "piece+move", "px+py+mb+mc", "piece+toppp:3"}) {
    check_walks(name);
  }
  check_records();
  check_searches();
  check_history();
  check_correction();
  check_interrupted();
  for (const char* name : {"", "piecf", "piece+", "toppp:4", "toppp:-1", "toppp:", "+"}) {
    check_throws([&] { FeatureSet(name, kPairs); });
  }
  return report_checks();
}
