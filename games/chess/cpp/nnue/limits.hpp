#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace zerogames::chess::nnue {

/// What a search may spend; zero means no such limit.
struct SearchLimits {
  std::int64_t time_ms = 0;  ///< On the mover's clock.
  std::int64_t increment_ms = 0;
  int moves_to_go = 0;
  std::int64_t move_time_ms = 0;
  std::uint64_t nodes = 0;
  int depth = 0;
};

/// Decides when a search ends.
class Clock {
 public:
  /// Kept back for the way between engine and user interface.
  static constexpr std::int64_t kOverheadMs = 30;

  void start(const SearchLimits& limits) {
    began_ = Instant::now();
    node_limit_ = limits.nodes;
    soft_ms_ = hard_ms_ = 0;
    if (limits.move_time_ms > 0) {
      soft_ms_ = hard_ms_ = std::max<std::int64_t>(1, limits.move_time_ms);
    } else if (limits.time_ms > 0) {
      const std::int64_t left = std::max<std::int64_t>(1, limits.time_ms - kOverheadMs);
      const std::int64_t moves = limits.moves_to_go > 0 ? std::min(limits.moves_to_go + 1, 25) : 25;
      soft_ms_ = std::max<std::int64_t>(1, left / moves + limits.increment_ms * 7 / 10);
      hard_ms_ = std::max<std::int64_t>(1, std::min(4 * soft_ms_, left / 3));
      soft_ms_ = std::min(soft_ms_, hard_ms_);
    }
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
