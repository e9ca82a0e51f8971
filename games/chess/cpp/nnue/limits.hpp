#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace zerogames::chess::nnue {

/// What a search may spend; zero means no such limit.
struct SearchLimits {
  std::int64_t soft_ms = 0;       ///< No further iteration begins after this.
  std::int64_t move_time_ms = 0;  ///< Never exceeded.
  std::uint64_t nodes = 0;
  int depth = 0;
  int lines = 1;  ///< How many of the best moves are wanted, each with a line.
  std::vector<std::string> moves = {};  ///< To choose from, as UCI; none: all.
};

/// Decides when a search ends.
class Clock {
 public:
  void start(const SearchLimits& limits) {
    began_ = Instant::now();
    node_limit_ = limits.nodes;
    hard_ms_ = limits.move_time_ms;
    soft_ms_ = limits.soft_ms > 0 ? limits.soft_ms : hard_ms_;
  }
  std::int64_t elapsed_ms() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(Instant::now() - began_).count();
  }
  /// Whether the search must end at once; the time is looked at every 1,024 nodes.
  bool is_over(std::uint64_t nodes) const {
    if (node_limit_ && nodes >= node_limit_) return true;
    return hard_ms_ && nodes % 1024 == 0 && elapsed_ms() >= hard_ms_;
  }
  /// Whether no further iteration should begin.
  bool is_enough() const { return soft_ms_ && elapsed_ms() >= soft_ms_; }

 private:
  using Instant = std::chrono::steady_clock;
  Instant::time_point began_;
  std::int64_t soft_ms_ = 0, hard_ms_ = 0;
  std::uint64_t node_limit_ = 0;
};

}  // namespace zerogames::chess::nnue
