#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <optional>
#include <vector>

#include "connect_four.hpp"

namespace zerogames {

/// Exact values of Connect Four positions: alpha-beta on bitboards with a transposition table.
///
/// A score is in the view of the side to move: 0 is a draw, s > 0 a win after which the winner has
/// s - 1 stones in hand, so quicker wins score higher; -s is the same loss. Searching the window
/// (-1, 1) finds win, draw or loss alone, which is much quicker.
class ConnectFourSolver {
 public:
  /// `entries` of the table, rounded up to a power of two; each takes 8 bytes.
  /// `on_check` is called every few milliseconds and may throw to end what is being solved.
  explicit ConnectFourSolver(std::size_t entries = std::size_t{1} << 23,
                             std::function<void()> on_check = {})
      : table_(std::bit_ceil(std::max<std::size_t>(entries, 2))), on_check_(std::move(on_check)) {}

  /// +1, 0 or -1 for the side to move.
  int result(const ConnectFour& state) {
    const int score = solve(state, -1, 1);
    return (score > 0) - (score < 0);
  }

  int score(const ConnectFour& state) {
    // Win, draw or loss first; then the window moves outwards from zero, so that every search but
    // the last finds an early refutation in the table.
    int low = solve(state, -1, 1);
    if (low == 0) return 0;
    const bool is_won = low > 0;
    low = 1;
    int high = (kCells + 2 - num_stones(state)) / 2;
    while (low < high) {
      const int middle = (low + high) / 2;
      const bool is_higher = is_won ? solve(state, middle, middle + 1) > middle
                                    : solve(state, -middle - 1, -middle) < -middle;
      if (is_higher) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return is_won ? low : -low;
  }

  /// Plies to the end when both play as well as they can, by a position's score.
  static int plies_left(const ConnectFour& state, int score) {
    if (score < -kCells / 2 || score > kCells / 2) throw Error("a score is -21 to 21");
    if (state.result()) return 0;
    const int left = kCells - num_stones(state);
    if (score == 0) return left;
    // The last stone is number 43 - 2s or 44 - 2s: the winner's, so its parity is known.
    const int most = left + 2 - 2 * std::abs(score);
    return most % 2 == (score > 0) ? most : most - 1;
  }

  /// Positions searched so far.
  std::uint64_t nodes() const { return nodes_; }

  /// Ends what is being solved with an Error, and all that is asked later; from any thread.
  void stop() { stopped_ = true; }

 private:
  static constexpr int kColumns = ConnectFour::kColumns;
  static constexpr int kRows = ConnectFour::kRows;
  static constexpr int kCells = kColumns * kRows;
  static constexpr int kStride = kRows + 1;
  /// Up to this many stones a position and its mirror image share their entry in the table; later
  /// finding the image costs more than it saves.
  static constexpr int kMirrorStones = 14;
  static constexpr std::uint64_t kNodesPerCheck = 1 << 16;

  static constexpr std::uint64_t kBottom = [] {
    std::uint64_t bits = 0;
    for (int column = 0; column < kColumns; ++column) {
      bits |= std::uint64_t{1} << (kStride * column);
    }
    return bits;
  }();
  static constexpr std::uint64_t kBoard = kBottom * ((1U << kRows) - 1);
  static constexpr std::uint64_t kColumn = (1U << kStride) - 1;

  static int num_stones(const ConnectFour& state) {
    return std::popcount(state.stones(0) | state.stones(1));
  }

  /// Empty cells that would complete four of `stones`, whether they can be reached now or not.
  static std::uint64_t completing(std::uint64_t stones, std::uint64_t occupied) {
    std::uint64_t cells = (stones << 1) & (stones << 2) & (stones << 3);
    for (const int step : {kStride - 1, kStride, kStride + 1}) {
      const std::uint64_t after_two = (stones << step) & (stones << (2 * step));
      const std::uint64_t before_two = (stones >> step) & (stones >> (2 * step));
      cells |= after_two & ((stones << (3 * step)) | (stones >> step));
      cells |= before_two & ((stones >> (3 * step)) | (stones << step));
    }
    return cells & kBoard & ~occupied;
  }

  int solve(const ConnectFour& state, int alpha, int beta) {
    const std::uint64_t mover = state.stones(state.to_play());
    const std::uint64_t occupied = state.stones(0) | state.stones(1);
    const int stones = std::popcount(occupied);
    if (const auto result = state.result()) return *result == 0 ? 0 : -((kCells + 2 - stones) / 2);
    if (completing(mover, occupied) & (occupied + kBottom)) return (kCells + 1 - stones) / 2;
    return search(mover, occupied, alpha, beta);
  }

  /// Fail-soft alpha-beta. The side to move must not be able to win at once.
  int search(std::uint64_t mover, std::uint64_t occupied, int alpha, int beta) {
    // One thread counts, others may read: no need for a locked addition.
    const std::uint64_t count = nodes_.load(std::memory_order_relaxed) + 1;
    nodes_.store(count, std::memory_order_relaxed);
    if (count % kNodesPerCheck == 0) {
      if (stopped_) throw Error("the solver was stopped");
      if (on_check_) on_check_();
    }
    const int stones = std::popcount(occupied);
    const int lost_at_once = -((kCells - stones) / 2);
    const std::uint64_t threats = completing(mover ^ occupied, occupied);
    std::uint64_t moves = (occupied + kBottom) & kBoard;
    if (const std::uint64_t forced = moves & threats) {
      if (forced & (forced - 1)) return lost_at_once;  // two threats, one stone
      moves = forced;
    }
    moves &= ~(threats >> 1);  // a stone there would let the opponent complete four on top of it
    if (moves == 0) return lost_at_once;
    if (stones >= kCells - 2) return 0;  // nobody can complete four any more

    Bounds bounds{lost_at_once + 1, (kCells - 1 - stones) / 2};
    std::uint64_t key = mover + occupied + kBottom;
    if (stones <= kMirrorStones) key = std::min(key, mirrored(key));
    std::uint64_t& slot = table_[slot_of(key)];
    if (slot >> kKeyShift == key) bounds = unpack(slot);
    if (bounds.low >= beta) return bounds.low;
    if (bounds.high <= alpha) return bounds.high;
    if (bounds.low == bounds.high) return bounds.low;
    alpha = std::max(alpha, bounds.low);
    beta = std::min(beta, bounds.high);

    const int first_alpha = alpha;
    int best = -kCells;
    for (const std::uint64_t move : ordered(moves, mover, occupied)) {
      if (move == 0) break;
      best = std::max(best, -search(mover ^ occupied, occupied | move, -beta, -alpha));
      if (best >= beta) break;
      alpha = std::max(alpha, best);
    }
    if (best > first_alpha) bounds.low = std::max(bounds.low, best);
    if (best < beta) bounds.high = std::min(bounds.high, best);
    slot = pack(key, bounds);
    return best;
  }

  /// The moves that make most threats first, from the middle outwards among equals; zeros behind.
  static std::array<std::uint64_t, kColumns> ordered(std::uint64_t moves, std::uint64_t mover,
                                                     std::uint64_t occupied) {
    std::array<std::uint64_t, kColumns> sorted{};
    std::array<int, kColumns> values{};
    std::size_t count = 0;
    for (const int column : {3, 2, 4, 1, 5, 0, 6}) {
      const std::uint64_t move = moves & (kColumn << (kStride * column));
      if (move == 0) continue;
      const int value = std::popcount(completing(mover | move, occupied | move));
      std::size_t place = count++;
      for (; place > 0 && values[place - 1] < value; --place) {
        sorted[place] = sorted[place - 1];
        values[place] = values[place - 1];
      }
      sorted[place] = move;
      values[place] = value;
    }
    return sorted;
  }

  // The table holds one word per entry: the key whole, so that no other position is ever taken for
  // this one, and bounds of the score. A key has 49 bits: each column's stones of the mover, plus
  // the number whose highest bit marks the column's height.
  struct Bounds {
    int low, high;
  };
  static constexpr int kBoundBits = 6, kBoundOffset = 32, kKeyShift = 2 * kBoundBits;
  static std::uint64_t pack(std::uint64_t key, Bounds bounds) {
    return key << kKeyShift | static_cast<std::uint64_t>(bounds.low + kBoundOffset) << kBoundBits |
           static_cast<std::uint64_t>(bounds.high + kBoundOffset);
  }
  static Bounds unpack(std::uint64_t word) {
    constexpr std::uint64_t kMask = (1U << kBoundBits) - 1;
    return {static_cast<int>((word >> kBoundBits) & kMask) - kBoundOffset,
            static_cast<int>(word & kMask) - kBoundOffset};
  }
  std::size_t slot_of(std::uint64_t key) const {
    return (key * 0x9E3779B97F4A7C15ULL) >> (std::countl_zero(table_.size()) + 1);
  }
  static std::uint64_t mirrored(std::uint64_t key) {
    std::uint64_t image = 0;
    for (int column = 0; column < kColumns; ++column, key >>= kStride) {
      image = image << kStride | (key & kColumn);
    }
    return image;
  }

  std::vector<std::uint64_t> table_;
  std::function<void()> on_check_;
  std::atomic<std::uint64_t> nodes_ = 0;
  std::atomic<bool> stopped_ = false;
};

}  // namespace zerogames
