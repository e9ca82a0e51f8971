#pragma once

#include "network.hpp"

namespace zerogames::chess::nnue {

/// Numbers of evaluations, accumulator updates and refreshes, for the metrics.
struct Counters {
  std::uint64_t evaluations = 0;
  std::uint64_t updates = 0;  ///< Per perspective.
  std::uint64_t rows_added = 0;
  std::uint64_t rows_removed = 0;
  std::uint64_t refreshes = 0;
};

/// The accumulators (first-layer sums of both perspectives) of the positions along a line of moves,
/// computed lazily, and the evaluation of the last position.
///
/// An accumulator is updated incrementally from the nearest computed one below it, by the
/// difference of the two boards, however many moves lie between; `pop` undoes nothing.
class AccumulatorStack {
 public:
  explicit AccumulatorStack(const Network& network)
      : network_(network), width_(network.width()), refreshed_(2 * 64) {
    for (Refreshed& entry : refreshed_) entry.sums = network.bias();
    grow(64);
  }

  /// Starts a new line.
  void reset(const Board& board) {
    top_ = 0;
    set_top(board);
  }
  void push(const Board& board) {
    ++top_;
    if (top_ == plies_.size()) grow(2 * top_);
    set_top(board);
  }
  void pop() {
    if (top_ > 0) --top_;
  }

  /// The score in the side to move's view, not clamped.
  int evaluate() {
    ++counters_.evaluations;
    bring_up_to_date(false);
    bring_up_to_date(true);
    const bool black = plies_[top_].black_to_move;
    return network_.forward(sums(top_, black), sums(top_, !black));
  }

  /// The accumulator of the last position in one perspective, `width()` sums.
  const std::int16_t* accumulator(bool black) {
    bring_up_to_date(black);
    return sums(top_, black);
  }
  std::size_t width() const { return static_cast<std::size_t>(width_); }
  const Counters& counters() const { return counters_; }
  void clear_counters() { counters_ = {}; }

 private:
  struct Ply {
    Placement white_view;
    bool black_to_move;
    bool computed[2];
  };
  /// Refresh cache: the last accumulator of each king square, from which a refresh starts.
  struct Refreshed {
    Placement view;  ///< Empty at first, as is the sum of no features.
    Aligned<std::int16_t> sums;
  };

  void grow(std::size_t plies) {
    plies_.resize(plies);
    sums_.resize(plies * 2 * width_);
  }
  void set_top(const Board& board) {
    plies_[top_] = {view_of(board, false), board.black_to_move, {false, false}};
  }
  std::int16_t* sums(std::size_t ply, bool black) {
    return sums_.data() + (2 * ply + black) * width_;
  }
  Placement view(std::size_t ply, bool black) const {
    return black ? turned(plies_[ply].white_view) : plies_[ply].white_view;
  }

  void bring_up_to_date(bool black) {
    Ply& ply = plies_[top_];
    if (ply.computed[black]) return;
    ply.computed[black] = true;
    const Placement now = view(top_, black);
    // The nearest computed accumulator; beyond as many moves as pieces a refresh is cheaper.
    std::size_t nearest = top_;
    const std::size_t limit = static_cast<std::size_t>(count(now.occupied()));
    while (nearest > 0 && top_ - nearest < limit) {
      if (plies_[--nearest].computed[black]) {
        const Placement then = view(nearest, black);
        if (!update(then, now, sums(nearest, black), sums(top_, black))) break;
        ++counters_.updates;
        counters_.rows_added += added_.size();
        counters_.rows_removed += removed_.size();
        return;
      }
    }
    refresh(now, black);
  }

  /// Returns false if the features need a refresh or a refresh is cheaper.
  bool update(const Placement& then, const Placement& now, const std::int16_t* from,
              std::int16_t* to) {
    if (!network_.features().changed(Transition(then, now), added_, removed_)) return false;
    zerogames::quantized::add_rows(from, to, network_.rows(), width_, added_, removed_);
    return true;
  }

  void refresh(const Placement& now, bool black) {
    ++counters_.refreshes;
    Refreshed& last = refreshed_[64 * black + own_king(now)];
    if (!last.view.occupied() || !update(last.view, now, last.sums.data(), last.sums.data())) {
      removed_.clear();
      network_.features().active(now, added_);
      zerogames::quantized::add_rows(network_.bias().data(), last.sums.data(), network_.rows(),
                                     width_, added_, removed_);
    }
    last.view = now;
    std::copy_n(last.sums.data(), width_, sums(top_, black));
  }

  const Network& network_;
  int width_;
  std::size_t top_ = 0;
  std::vector<Ply> plies_;
  Aligned<std::int16_t> sums_;
  std::vector<Refreshed> refreshed_;
  Indices added_, removed_;
  Counters counters_;
};

}  // namespace zerogames::chess::nnue
