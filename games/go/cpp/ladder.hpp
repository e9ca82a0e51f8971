#pragma once

#include <algorithm>
#include <vector>

#include "board.hpp"

namespace zerogames::go {

/// When a question takes more, the answer is "not captured".
struct LadderLimits {
  int nodes = 1000;
  int depth = 100;
};

/// Stones whose chain has a ladder label.
struct Ladders {
  Points lost;
  Points unsettled;
};

/// A board to read on: moves are tried and taken back, with a simple ko for one ply. Suicide is
/// illegal.
class ReadingBoard {
 protected:
  static constexpr Point kNoPoint = kMaxArea;

  explicit ReadingBoard(const Board& board) : board_(board) {}

  bool is_legal(Point point, Colour player) const {
    return point != ko_ && !board_.effect(point, player).suicide();
  }

  /// Returns `then()`, called while the move is on the board.
  template <class Then>
  bool try_move(Point point, Colour player, Then then) {
    Placement done;
    board_.place(point, player, done);
    const Point outer_ko = ko_;
    ko_ = kNoPoint;
    if (done.num_captured == 1 && board_.chain_size(done.captured[0]) == 1) {
      const Point head = board_.head(point);
      if (board_.chain_size(head) == 1 && board_.in_atari(head)) ko_ = done.captured[0];
    }
    const bool answer = then();
    ko_ = outer_ko;
    board_.undo(done);
    return answer;
  }

  int empty_neighbours(Point point) const {
    int count = 0;
    for (const Point next : board_.neighbours(point)) count += board_.colour(next) == kEmpty;
    return count;
  }

  Board board_;
  Point ko_ = kNoPoint;
};

/// Reads ladders: chains with one or two liberties that the other side (the attacker) captures by
/// a sequence of ataris, wherever the turn really is.
///
///   A (attacker to move): one liberty that the attacker may fill, or two liberties and one of the
///     attacker's moves on them leaves D true.
///   D (defender to move): at most one liberty, and A is true after every legal extension and
///     every legal capture of an adjacent chain in atari.
///
/// A chain is lost if A is true now and after every legal move of the defender anywhere; unsettled
/// if A is true now and some move of the defender makes it false. Suicide is illegal here, a simple
/// ko is banned for one ply, and no ko comes from the game.
class LadderReader : private ReadingBoard {
 public:
  LadderReader(const Board& board, const LadderLimits& limits)
      : ReadingBoard(board), limits_(limits) {}

  Ladders read() {
    Ladders ladders;
    for (const Colour player : {kBlack, kWhite}) {
      board_.heads(player).for_each([&](Point stone) {
        const Label found = label(stone);
        if (found == Label::kNone) return;
        Points& chains = found == Label::kLost ? ladders.lost : ladders.unsettled;
        board_.for_each_stone(stone, [&](Point other) { chains.set(other); });
      });
    }
    return ladders;
  }

 private:
  enum class Label { kNone, kLost, kUnsettled };

  Label label(Point stone) {
    Point liberties[3];
    const int count = board_.liberties(board_.head(stone), liberties, 3);
    if (count == 3) return Label::kNone;
    defender_ = board_.colour(stone);
    stone_ = stone;
    if (count == 1) {
      // The attacker can capture at once; only an extension or a capture can prevent it.
      return ask([&] { return defender_first<false>(0); }) ? Label::kLost : Label::kUnsettled;
    }
    if (!captured_now<false>()) return Label::kNone;
    for (int i = 0; i < count; ++i) {
      if (saves(liberties[i])) return Label::kUnsettled;
    }
    // No other point than those the proof looked at can change the answer.
    touched_ = {};
    captured_now<true>();
    touched_.reset(liberties[0]);
    touched_.reset(liberties[1]);
    bool saved = false;
    const Points candidates = touched_;
    candidates.for_each(
        [&](Point point) { saved = saved || (board_.colour(point) == kEmpty && saves(point)); });
    return saved ? Label::kUnsettled : Label::kLost;
  }

  template <class Question>
  bool ask(Question question) {
    nodes_ = 0;
    stopped_ = false;
    ko_ = kNoPoint;
    return question();
  }

  template <bool kRecord>
  bool captured_now() {
    return ask([&] { return attacker_first<kRecord>(0); });
  }

  /// Whether the chain is no longer captured once the defender has played on `point`.
  bool saves(Point point) {
    ko_ = kNoPoint;
    if (!is_legal(point, defender_)) return false;
    return try_move(point, defender_, [&] {
      nodes_ = 0;
      stopped_ = false;
      return !attacker_first<false>(0);
    });
  }

  bool stop(int depth) {
    stopped_ = stopped_ || ++nodes_ > limits_.nodes || depth > limits_.depth;
    return stopped_;
  }

  /// A.
  template <bool kRecord>
  bool attacker_first(int depth) {
    if (stop(depth)) return false;
    const Colour attacker = opponent(defender_);
    Point moves[3];
    const int count = board_.liberties(board_.head(stone_), moves, 3);
    if (count == 3) return false;
    if constexpr (kRecord) record(moves, count);
    if (count == 1) return is_legal(moves[0], attacker);
    // The order decides what fits into the limits: open points first, then by number.
    const int lead = empty_neighbours(moves[0]) - empty_neighbours(moves[1]);
    if (lead < 0 || (lead == 0 && moves[1] < moves[0])) std::swap(moves[0], moves[1]);
    for (int i = 0; i < 2; ++i) {
      if (!is_legal(moves[i], attacker)) continue;
      if constexpr (kRecord) {  // the move may rest on capturing another chain
        board_.for_each_captured(moves[i], attacker,
                                 [&](Point head) { record_weak_attackers(head); });
      }
      if (try_move(moves[i], attacker, [&] { return defender_first<kRecord>(depth + 1); })) {
        return true;
      }
      if (stopped_) return false;
    }
    return false;
  }

  /// D.
  template <bool kRecord>
  bool defender_first(int depth) {
    if (stop(depth)) return false;
    const Point head = board_.head(stone_);
    if (!board_.in_atari(head)) return false;
    // All moves are collected first: playing them changes the lists that are walked here.
    const std::size_t first = moves_.size();
    moves_.push_back(board_.only_liberty(head));
    if constexpr (kRecord) record(&moves_[first], 1);
    board_.for_each_stone(head, [&](Point stone) {
      for (const Point next : board_.neighbours(stone)) {
        if (board_.colour(next) != opponent(defender_)) continue;
        const Point chain = board_.head(next);
        if (!board_.in_atari(chain)) continue;
        const Point capture = board_.only_liberty(chain);
        if (std::find(moves_.begin() + static_cast<std::ptrdiff_t>(first), moves_.end(), capture) ==
            moves_.end()) {
          moves_.push_back(capture);
        }
      }
    });
    std::sort(moves_.begin() + static_cast<std::ptrdiff_t>(first) + 1,
              moves_.end());  // after the extension, by number
    bool captured = true;
    const std::size_t end = moves_.size();
    for (std::size_t i = first; captured && i < end; ++i) {
      const Point move = moves_[i];
      if (!is_legal(move, defender_)) {
        if constexpr (kRecord) {  // suicide, unless the chains that it joins had more liberties
          for (const Point next : board_.neighbours(move)) {
            if (board_.colour(next) == defender_) record_weak_attackers(board_.head(next));
          }
        }
        continue;
      }
      captured = try_move(move, defender_, [&] { return attacker_first<kRecord>(depth + 1); });
    }
    moves_.resize(first);
    return captured;
  }

  /// Notes what the proof rests on: liberties of the chain, and what surrounds it.
  void record(const Point* liberties, int count) {
    for (int i = 0; i < count; ++i) touched_.set(liberties[i]);
    record_weak_attackers(board_.head(stone_));
  }

  /// Notes the liberties of attackers beside a chain of the defender that one more stone could
  /// capture or put into atari, which would give the chain a liberty.
  void record_weak_attackers(Point head) {
    board_.for_each_stone(head, [&](Point stone) {
      for (const Point next : board_.neighbours(stone)) {
        if (board_.colour(next) != opponent(defender_)) continue;
        Point weak[3];
        const int few = board_.liberties(board_.head(next), weak, 3);
        for (int i = 0; few < 3 && i < few; ++i) touched_.set(weak[i]);
      }
    });
  }

  LadderLimits limits_;
  Colour defender_ = kBlack;
  Point stone_ = 0;  ///< any stone of the chain in question
  int nodes_ = 0;
  bool stopped_ = false;
  Points touched_;
  std::vector<Point> moves_;  ///< a stack shared by all depths
};

}  // namespace zerogames::go
