// What the native rules and encoder do per second on one core, without Python. Prints one line per
// run: name, units, CPU seconds. benchmarks/chess_rules.py compiles it, runs it and reports.

#include <cstdio>
#include <ctime>
#include <random>

#include "state.hpp"

using namespace zerogames;
using chess::State;

namespace {

template <class Work>
void measure(const char* name, int runs, Work work) {
  for (int run = 0; run < runs; ++run) {
    const std::clock_t began = std::clock();
    const long units = work();
    const double seconds = static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
    std::printf("%s %ld %.9f\n", name, units, seconds);
  }
}

/// Plays random games; hands every state to `visit`.
template <class Visit>
long play_games(int games, unsigned seed, Visit visit) {
  std::mt19937 random(seed);
  std::vector<Action> actions;
  long moves = 0;
  for (int game = 0; game < games; ++game) {
    State state;
    for (state.legal_actions(actions); !actions.empty(); state.legal_actions(actions), ++moves) {
      visit(state);
      state.play(actions[random() % actions.size()]);
    }
  }
  return moves;
}

}  // namespace

int main() {
  constexpr int kRuns = 5, kStates = 1024, kRounds = 50;
  constexpr unsigned kSeed = 1;
  measure("random_games", kRuns, [] { return play_games(500, kSeed, [](const State&) {}); });

  std::vector<State> states;
  play_games(20, kSeed, [&](const State& state) {
    if (states.size() < kStates) states.push_back(state);
  });
  const auto encoding = State::parse_encoding("lc0-classic");
  const auto size = static_cast<std::size_t>(states[0].observation_shape(encoding).size());
  constexpr std::size_t kBatch = 64;
  std::vector<float> batch(kBatch * size);
  measure("observe", kRuns, [&] {
    for (int round = 0; round < kRounds; ++round) {
      for (std::size_t i = 0; i < states.size(); ++i) {
        states[i].observe(encoding, {batch.data() + i % kBatch * size, size});
      }
    }
    return static_cast<long>(kRounds * states.size());
  });
  PackedPlanes packed;
  std::uint64_t seen = 0;  // keeps the work from being left out
  measure("pack", kRuns, [&] {
    for (int round = 0; round < kRounds; ++round) {
      for (const State& state : states) {
        state.pack(encoding, packed);
        seen += packed.bits[0] ^ packed.bits[chess::kBitPlanes - 2];
      }
    }
    return static_cast<long>(kRounds * states.size());
  });
  std::fprintf(stderr, "%llu %f\n", static_cast<unsigned long long>(seen), batch[size]);
  return 0;
}
