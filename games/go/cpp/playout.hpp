#pragma once

#include <vector>

#include "life.hpp"
#include "scoring.hpp"
#include "zerogames/random.hpp"

namespace zerogames::go {

/// Plays random moves to the end of a game: no suicide, no own eye filled, no ko retaken at once.
class Playout {
 public:
  explicit Playout(std::uint64_t seed) : random_(seed) {}

  /// The final board; a game that does not end (several kos) is cut after three moves a point.
  Board run(Board board, Colour to_play) {
    empty_.clear();
    board.empty().for_each([&](Point point) { empty_.push_back(point); });
    Point ko = kMaxArea;
    int passes = 0;
    for (int move = 0; move < 3 * board.area() && passes < 2; ++move) {
      const int index = choose(board, to_play, ko);
      ko = kMaxArea;
      if (index < 0) {
        ++passes;
      } else {
        passes = 0;
        ko = play(board, to_play, static_cast<std::size_t>(index));
      }
      to_play = opponent(to_play);
    }
    return board;
  }

 private:
  /// Index of a point among the empty ones, all that are sensible being equally likely; or -1.
  int choose(const Board& board, Colour player, Point ko) {
    for (std::size_t open = empty_.size(); open > 0; --open) {
      const std::size_t index = random_.below(static_cast<std::uint32_t>(open));
      const Point point = empty_[index];
      if (point != ko && !is_own_eye(board, point, player) &&
          !board.effect(point, player).suicide()) {
        return static_cast<int>(index);
      }
      std::swap(empty_[index], empty_[open - 1]);  // not to be drawn again for this move
    }
    return -1;
  }

  /// Returns the point where the opponent must not retake at once.
  Point play(Board& board, Colour player, std::size_t index) {
    const Point point = empty_[index];
    empty_[index] = empty_.back();
    empty_.pop_back();
    Placement done;
    board.place(point, player, done);
    for (int i = 0; i < done.num_captured; ++i) {
      board.for_each_stone(done.captured[i], [&](Point stone) { empty_.push_back(stone); });
    }
    const Point head = board.head(point);
    const bool takes_one = done.num_captured == 1 && board.chain_size(done.captured[0]) == 1;
    const bool is_ko = takes_one && board.chain_size(head) == 1 && board.in_atari(head);
    return is_ko ? done.captured[0] : static_cast<Point>(kMaxArea);
  }

  Random random_;
  std::vector<Point> empty_;
};

/// Mean owner of each point at the end of random games: +1 Black, -1 White.
inline std::vector<float> playout_ownership(const Board& board, Colour to_play, int playouts,
                                            std::uint64_t seed) {
  Playout playout(seed);
  std::vector<int> lead(static_cast<std::size_t>(board.area()));
  for (int i = 0; i < playouts; ++i) {
    // Who begins is alternated: neither side's first move counts more.
    const Area owned = area(playout.run(board, i % 2 ? opponent(to_play) : to_play));
    owned.owned[kBlack].for_each([&](Point point) { ++lead[point]; });
    owned.owned[kWhite].for_each([&](Point point) { --lead[point]; });
  }
  std::vector<float> mean;
  for (const int count : lead) {
    mean.push_back(static_cast<float>(count) / static_cast<float>(playouts));
  }
  return mean;
}

}  // namespace zerogames::go
