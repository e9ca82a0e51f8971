// Answers chess positions with an engine file, without Python:
//
//   deploy_chess net.engine "startpos moves e2e4 e7e5" "8/8/8/8/8/4k3/4p3/4K3 b - - 0 1"
//   deploy_chess net.engine --plugin libzerogames_tensorrt.so startpos
//
// Positions are encoded and moves named by the headers of the chess plugin.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "engine.hpp"
#include "state.hpp"

namespace {

using zerogames::Action;
using zerogames::chess::State;

constexpr int kShown = 5;
constexpr std::size_t kPositionSize = std::size_t{zerogames::chess::kPlanes} * 64;

/// Reads `[startpos | FEN] [moves MOVE ...]`.
State parse_position(const std::string& text) {
  const std::size_t at = text.find("moves ");
  std::string start = text.substr(0, at);
  while (!start.empty() && start.back() == ' ') start.pop_back();
  State state = start.empty() || start == "startpos" ? State() : State::from_fen(start);
  if (at == std::string::npos) return state;
  std::istringstream moves(text.substr(at + 6));
  for (std::string move; moves >> move;) {
    const auto parsed = zerogames::chess::parse_uci(state.board(), state.checks(), move);
    state.play(zerogames::chess::action_of(parsed));
  }
  return state;
}

/// Prints the value and the most likely legal moves.
void print_answer(const State& state, const float* policy, const float* wdl) {
  if (state.result()) {
    std::cout << "  the game is over: " << state.end_reason() << '\n';
    return;
  }
  std::vector<Action> actions;
  state.legal_actions(actions);
  std::sort(actions.begin(), actions.end(),
            [&](Action a, Action b) { return policy[a] > policy[b]; });
  double sum = 0;
  for (const Action action : actions) sum += std::exp(policy[action] - policy[actions[0]]);
  std::printf("  win %.4f draw %.4f loss %.4f\n", wdl[0], wdl[1], wdl[2]);
  for (std::size_t i = 0; i < std::min<std::size_t>(actions.size(), kShown); ++i) {
    const auto move = zerogames::chess::move_of(state.board(), actions[i]);
    std::printf("  %-5s %.4f\n", zerogames::chess::format_uci(state.board(), move).c_str(),
                std::exp(policy[actions[i]] - policy[actions[0]]) / sum);
  }
}

int run(const std::vector<std::string>& arguments) {
  std::string path, plugin;
  std::vector<std::string> positions;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--plugin" && i + 1 < arguments.size()) {
      plugin = arguments[++i];
    } else if (path.empty()) {
      path = arguments[i];
    } else {
      positions.push_back(arguments[i]);
    }
  }
  if (path.empty()) {
    std::cerr << "usage: deploy_chess ENGINE [--plugin LIBRARY] [POSITION ...]\n";
    return 2;
  }
  if (positions.empty()) positions.push_back("startpos");

  std::vector<State> states;
  for (const auto& text : positions) states.push_back(parse_position(text));
  deploy::Engine engine(path, plugin);
  for (std::size_t first = 0; first < states.size(); first += engine.largest()) {
    const std::size_t batch = std::min(engine.largest(), states.size() - first);
    std::vector<float> planes(batch * kPositionSize);
    for (std::size_t i = 0; i < batch; ++i) {
      states[first + i].observe(State::parse_encoding("lc0-classic"),
                                std::span(planes).subspan(i * kPositionSize, kPositionSize));
    }
    const deploy::Answers answers = engine.evaluate(planes);
    for (std::size_t i = 0; i < batch; ++i) {
      std::cout << positions[first + i] << std::endl;
      print_answer(states[first + i], answers.policy.data() + i * engine.num_actions(),
                   answers.wdl.data() + 3 * i);
      std::fflush(stdout);
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
