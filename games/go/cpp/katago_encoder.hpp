#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "encoding.hpp"
#include "history.hpp"
#include "katago_area.hpp"
#include "katago_ladder.hpp"
#include "rules.hpp"
#include "zerogames/planes.hpp"

namespace zerogames::go {

/// The parts of a state that KataGo's planes show.
struct KataGoPosition {
  const Board& board;
  const History& history;
  const Rules& rules;
  Colour to_play;
  Point ko;              ///< banned by a simple ko; else no point of the board
  int passes;            ///< consecutive passes just played
  const Points& banned;  ///< forbidden to the side to move by the rule of ko alone
  int handicap;          ///< stones that Black put before White's first one
};

/// Which moves back a net may see, and whether a pass would end the game now; by KataGo's rules,
/// which end a game with the simple ko also when a position comes back too often.
class KataGoHistory {
 public:
  static constexpr int kMost = 5;

  explicit KataGoHistory(const KataGoPosition& position) : position_(position) {
    read_plies();
    int passes = 0;  // of the game, also those after play went on
    while (passes < num_known() && plies_[passes].passed) ++passes;
    passes = std::max(passes, position.passes);
    const bool repeated = is_repeated_pass(0);
    pass_would_end_ = passes >= 1 || repeated;
    only_friendly_pass_ = position.rules.friendly_pass && passes == 1 && !repeated;
    while (num_seen_ < std::min(kMost, num_known())) {
      if (plies_[num_seen_].turn_changed) break;
      ++num_seen_;
      if (ended_game(num_seen_ - 1)) break;
    }
  }

  bool pass_would_end() const { return pass_would_end_; }
  /// Whether a friendly pass hides what was before.
  bool only_friendly_pass() const { return only_friendly_pass_; }
  /// Plies that were read: at least three, if the game has them.
  int num_known() const { return static_cast<int>(plies_.size()); }
  /// Plies back that may be shown.
  int num_seen() const { return num_seen_; }
  /// The ply `ago` plies back, 0 the last one.
  const History::Ply& ply(int ago) const { return plies_[ago]; }
  /// The stones before that ply; for `ago` up to 1.
  const std::array<Points, 2>& boards_before(int ago) const { return boards_[ago]; }
  /// A number that differs where what the history allows differs.
  int key() const { return num_seen_ * 4 + pass_would_end_ * 2 + only_friendly_pass_; }

 private:
  void read_plies() {
    plies_.reserve(kMost + 2);
    const bool all = position_.rules.ko == Ko::kSimple;
    const Board& board = position_.board;
    position_.history.for_each_ply_back(
        {board.stones(kBlack), board.stones(kWhite)}, [&](const History::Ply& ply, const auto& b) {
          if (plies_.size() < boards_.size()) boards_[plies_.size()] = b;
          plies_.push_back(ply);
          return !ply.turn_changed && (all || plies_.size() < kMost + 2);
        });
  }

  /// Hash of the stones `ago` plies back; 0 is now.
  std::uint32_t hash(int ago) const { return position_.history.hash_before(ago); }

  /// Whether the side to move `ago` plies back has passed before in that position.
  bool is_repeated_pass(int ago) const {
    if (position_.rules.ko != Ko::kSimple) return false;
    // A pass `i` plies back was played by the side that is to move after it, the other way round.
    for (int i = ago + 1; i < num_known(); i += 2) {
      if (plies_[i].turn_changed) break;
      if (plies_[i].passed && hash(i) == hash(ago)) return true;
    }
    return false;
  }

  /// Whether the ply ended the game.
  bool ended_game(int ago) const {
    const int next = ago + 1;
    if (plies_[ago].passed) {
      return (next < num_known() && plies_[next].passed) || is_repeated_pass(next);
    }
    if (position_.rules.ko != Ko::kSimple) return false;
    int times = 1;  // a position that comes for the third time since the last pass
    for (int i = ago; i < num_known(); ++i) {
      if (plies_[i].passed || plies_[i].turn_changed) break;
      if ((i + 1 - ago) % 2 == 0 && hash(i + 1) == hash(ago)) ++times;
    }
    return times >= 3;
  }

  const KataGoPosition& position_;
  std::vector<History::Ply> plies_;  ///< the last one first, to the start or a change of turn
  std::array<std::array<Points, 2>, 2> boards_{};
  int num_seen_ = 0;
  bool pass_would_end_ = false;
  bool only_friendly_pass_ = false;
};

/// Writes the 22 planes and 19 numbers of KataGo's input features, version 7, for area scoring
/// without tax, button or clean-up phases.
class KataGoEncoder {
 public:
  static constexpr int kPlanes = 22;
  static constexpr int kNumbers = 19;

  KataGoEncoder(const KataGoPosition& position, const Encoding& encoding)
      : position_(position), encoding_(encoding), history_(position) {
    hidden_ =
        history_.pass_would_end() && (encoding.conservative_pass || history_.only_friendly_pass());
    num_seen_ = hidden_ ? 0 : history_.num_seen();
  }

  void write(std::span<std::uint64_t> bits, std::span<float> numbers) const {
    const int words = words_per_plane(position_.board.area());
    std::array<Points, kPlanes> planes;
    write_planes(planes);
    for (int i = 0; i < kPlanes; ++i) {
      std::copy_n(planes[i].words.begin(), words, bits.begin() + i * words);
    }
    std::fill(numbers.begin(), numbers.end(), 0.0F);
    write_numbers(numbers);
  }

 private:
  void write_planes(std::span<Points, kPlanes> planes) const {
    const Board& board = position_.board;
    const Colour own = position_.to_play, other = opponent(own);
    planes[0] = board.geometry().board;
    planes[1] = board.stones(own);
    planes[2] = board.stones(other);
    (board.heads(kBlack) | board.heads(kWhite)).for_each([&](Point head) {
      Point liberties[4];
      const int count = board.liberties(head, liberties, 4);
      if (count == 4) return;
      board.for_each_stone(head, [&](Point stone) { planes[2 + count].set(stone); });
    });
    planes[6] = position_.banned;
    if (position_.ko < board.area()) planes[6].set(position_.ko);
    for (int ago = 0; ago < num_seen_; ++ago) {
      if (!history_.ply(ago).passed) planes[9 + ago].set(history_.ply(ago).point);
    }
    const auto now = KataGoLadderReader(board, position_.ko).read(other);
    planes[14] = now.stones;
    planes[15] = num_seen_ >= 1 ? ladders_before(0) : planes[14];
    planes[16] = num_seen_ >= 2 ? ladders_before(1) : planes[15];
    planes[17] = now.working;
    const Area area = katago_area(board, position_.rules.suicide || encoding_.pass_alive_suicide);
    planes[18] = area.owned[own];
    planes[19] = area.owned[other];
  }

  /// The marked stones of the board before the ply `ago` plies back.
  Points ladders_before(int ago) const {
    const auto& stones = history_.boards_before(ago);
    Board board(position_.board.size());
    Placement done;
    for (const Colour player : {kBlack, kWhite}) {
      stones[player].for_each([&](Point point) { board.add_stone(point, player, done); });
    }
    return KataGoLadderReader(board, ko_before(board, ago + 1)).read(kBlack).stones;
  }

  /// The point that a simple ko forbids on the board after the ply `ago` plies back.
  Point ko_before(const Board& board, int ago) const {
    if (ago >= history_.num_known()) return kMaxArea;
    const History::Ply& ply = history_.ply(ago);
    if (ply.passed || ply.turn_changed || ply.num_removed != 1) return kMaxArea;
    if (board.colour(ply.point) != ply.player) return kMaxArea;
    const Point head = board.head(ply.point);
    return board.chain_size(head) == 1 && board.in_atari(head) ? ply.removed : Point{kMaxArea};
  }

  void write_numbers(std::span<float> numbers) const {
    const Rules& rules = position_.rules;
    for (int ago = 0; ago < num_seen_; ++ago) numbers[ago] = history_.ply(ago).passed;
    const float komi = own_komi();
    numbers[5] = komi / 20;
    numbers[6] = rules.ko == Ko::kSimple ? 0.0F : 1.0F;
    numbers[7] = rules.ko == Ko::kSimple ? 0.0F : rules.ko == Ko::kPositional ? 0.5F : -0.5F;
    numbers[8] = rules.suicide;
    numbers[14] = history_.pass_would_end() && !hidden_;
    numbers[18] = parity_wave(komi);
  }

  /// The komi of the side to move, with the points that White gets for a handicap.
  float own_komi() const {
    const int handicap = position_.handicap < 2 ? 0 : position_.handicap;
    float komi = position_.rules.komi;
    if (encoding_.handicap_bonus == Encoding::Bonus::kStones) komi += static_cast<float>(handicap);
    if (encoding_.handicap_bonus == Encoding::Bonus::kStonesButOne) {
      komi += static_cast<float>(std::max(0, handicap - 1));
    }
    const auto most = static_cast<float>(position_.board.area() + 20);
    return std::clamp(position_.to_play == kWhite ? komi : -komi, -most, most);
  }

  /// How near the komi is to one that makes a draw possible, as a wave of period 2.
  float parity_wave(float komi) const {
    const bool even = position_.board.area() % 2 == 0;
    const float below = even ? 2 * std::floor(komi / 2) : 2 * std::floor((komi - 1) / 2) + 1;
    const float above = komi - below;
    return above < 0.5F ? above : above < 1.5F ? 1 - above : above - 2;
  }

  const KataGoPosition& position_;
  const Encoding& encoding_;
  KataGoHistory history_;
  bool hidden_ = false;
  int num_seen_ = 0;
};

}  // namespace zerogames::go
