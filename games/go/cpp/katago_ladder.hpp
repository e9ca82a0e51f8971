#pragma once

#include "ladder.hpp"

namespace zerogames::go {

/// Reads ladders as the input planes of KataGo's nets show them.
///
/// The reading is that of `LadderReader` with these differences. A chain of one liberty is marked
/// if it is captured although its owner moves first, one of two liberties if it is captured when
/// the attacker moves first; other moves on the board are not looked at. The defender wins as soon
/// as the attacker takes a ko inside the reading; two kos that the attacker may take in turn
/// capture. Only the attacker's first move on two liberties obeys the ko of the game.
class KataGoLadderReader : private ReadingBoard {
 public:
  struct Found {
    Points stones;   ///< of the marked chains
    Points working;  ///< the attacker's first moves that capture a marked chain of two liberties
  };

  /// `ko` is the point that a simple ko forbids on this board, or no point of the board.
  KataGoLadderReader(const Board& board, Point ko) : ReadingBoard(board), game_ko_(ko) {}

  /// The marks of both colours; the working moves against the chains of `defender`.
  Found read(Colour defender) {
    Found found;
    for (const Colour player : {kBlack, kWhite}) {
      board_.heads(player).for_each([&](Point stone) {
        Points moves;
        if (!is_captured(stone, moves)) return;
        board_.for_each_stone(board_.head(stone), [&](Point other) { found.stones.set(other); });
        if (player == defender) found.working = found.working | moves;
      });
    }
    return found;
  }

 private:
  static constexpr int kMaxMoves = 25000;

  bool is_captured(Point stone, Points& working) {
    Point liberties[3];
    const int count = board_.liberties(board_.head(stone), liberties, 3);
    if (count == 3) return false;
    stone_ = stone;
    defender_ = board_.colour(stone);
    num_moves_ = 0;
    if (count == 1) {
      ko_ = kNoPoint;
      return defender_first(0);
    }
    const Colour attacker = opponent(defender_);
    for (int i = 0; i < 2; ++i) {
      num_moves_ = 1;
      ko_ = game_ko_;
      if (!is_legal(liberties[i], attacker)) continue;
      const bool captured = try_move(liberties[i], attacker, [&] {
        ko_ = kNoPoint;
        return defender_first(1);
      });
      if (captured) working.set(liberties[i]);
    }
    return working.any();
  }

  bool is_stopped() const { return num_moves_ > kMaxMoves; }
  bool is_too_deep(int depth) const { return 2 * depth > 3 * board_.area(); }

  bool attacker_first(int depth) {
    Point liberties[3];
    const int count = board_.liberties(board_.head(stone_), liberties, 3);
    if (count == 3) return false;
    if (count == 1) return true;  // the capture may even be banned by ko
    if (is_too_deep(depth) || is_double_ko(liberties)) return true;
    const Colour attacker = opponent(defender_);
    for (int i = 0; i < 2; ++i) {
      const Point other = liberties[1 - i];
      // The defender would get three liberties by the other move.
      if (empty_neighbours(other) == 3 && !is_beside(other, liberties[i])) continue;
      if (!is_legal(liberties[i], attacker)) continue;
      if (++num_moves_ > kMaxMoves) return false;
      if (try_move(liberties[i], attacker, [&] { return defender_first(depth + 1); })) return true;
      if (is_stopped()) return false;
    }
    return false;
  }

  bool defender_first(int depth) {
    const Point head = board_.head(stone_);
    if (ko_ != kNoPoint || !board_.in_atari(head)) return false;
    if (is_too_deep(depth)) return true;
    // All moves are collected first: playing them changes the lists that are walked here.
    const std::size_t first = moves_.size();
    board_.for_each_stone(head, [&](Point stone) {
      for (const Point next : board_.neighbours(stone)) {
        if (board_.colour(next) != opponent(defender_)) continue;
        const Point chain = board_.head(next);
        if (board_.in_atari(chain)) add_move(first, board_.only_liberty(chain));
      }
    });
    add_move(first, board_.only_liberty(head));
    bool captured = true;
    const std::size_t end = moves_.size();
    for (std::size_t i = first; captured && i < end; ++i) {
      const Point move = moves_[i];
      if (!is_legal(move, defender_)) continue;
      captured = ++num_moves_ <= kMaxMoves &&
                 try_move(move, defender_, [&] { return attacker_first(depth + 1); });
    }
    moves_.resize(first);
    return captured;
  }

  void add_move(std::size_t first, Point move) {
    const auto begin = moves_.begin() + static_cast<std::ptrdiff_t>(first);
    if (std::find(begin, moves_.end(), move) == moves_.end()) moves_.push_back(move);
  }

  bool is_beside(Point a, Point b) const {
    const auto& near = board_.neighbours(a);
    return std::find(near.begin(), near.end(), b) != near.end();
  }

  /// Whether both liberties are kos that the attacker can take in turn, and the defender gains
  /// nothing by connecting at either.
  bool is_double_ko(const Point* liberties) {
    for (int i = 0; i < 2; ++i) {
      if (!is_ko_capture(liberties[i])) return false;
    }
    for (int i = 0; i < 2; ++i) {
      Placement done;
      Point left[3];
      board_.place(liberties[i], defender_, done);
      const int count = board_.liberties(board_.head(liberties[i]), left, 3);
      board_.undo(done);
      if (count == 3) return false;
    }
    bool weak = false;
    board_.for_each_stone(board_.head(stone_), [&](Point stone) {
      for (const Point next : board_.neighbours(stone)) {
        weak = weak ||
               (board_.colour(next) == opponent(defender_) && board_.in_atari(board_.head(next)));
      }
    });
    return !weak;
  }

  /// Whether the attacker's stone on `point` would take a single stone in a ko.
  bool is_ko_capture(Point point) const {
    int num_captured = 0;
    for (const Point next : board_.neighbours(point)) {
      const Colour there = board_.colour(next);
      if (there == kEdge) continue;
      if (there != defender_) return false;
      const Point head = board_.head(next);
      if (!board_.in_atari(head)) continue;
      if (board_.chain_size(head) != 1) return false;
      ++num_captured;
    }
    return num_captured == 1;
  }

  Point game_ko_;
  Colour defender_ = kBlack;
  Point stone_ = 0;  ///< any stone of the chain in question
  int num_moves_ = 0;
  std::vector<Point> moves_;  ///< a stack shared by all depths
};

}  // namespace zerogames::go
