#pragma once

#include <algorithm>
#include <vector>

#include "exchange.hpp"

namespace zerogames::chess::nnue {

/// A move in 16 bits: from, to << 6, promotion << 12. Zero, a1a1, is no move.
constexpr std::uint16_t pack_move(Move move) {
  return static_cast<std::uint16_t>(move.from | move.to << 6 |
                                    static_cast<int>(move.promotion) << 12);
}
constexpr Move unpack_move(std::uint16_t packed) {
  return {static_cast<std::uint8_t>(packed & 63), static_cast<std::uint8_t>(packed >> 6 & 63),
          static_cast<Promotion>(packed >> 12)};
}

/// Captures and promotions; everything else is quiet.
inline bool is_noisy(const Board& board, Move move) {
  return move.promotion != Promotion::kNone || captured_value(board, move) > 0;
}

/// A piece and the square it goes to, in its mover's view.
constexpr int pack_step(int role, int to) { return role * 64 + to; }
inline int pack_step(const Board& board, std::uint16_t move) {
  return pack_step(role_at(board, move & 63), move >> 6 & 63);
}
/// In place of a step where there is none: before the first move, and after a null move.
inline constexpr int kNoStep = pack_step(6, 0);

/// What quiet moves have done so far in the search: in general, as answers to the opponent's last
/// step, and as sequels to the mover's own.
class History {
 public:
  static constexpr int kLimit = 16'384;  ///< Of each of the three.

  struct Context {
    bool black = false;  ///< To move.
    int answered = kNoStep;
    int continued = kNoStep;
  };

  void clear() {
    values_ = {};
    counters_ = {};
    std::ranges::fill(steps_, Steps{});
  }
  int value(const Context& at, std::uint16_t move, int step) const {
    return values_[at.black][move & 4095] + answers(at)[step] + sequels(at)[step];
  }
  /// Moves the value towards the limits, the slower the nearer it is.
  void add(const Context& at, std::uint16_t move, int step, int bonus) {
    add(values_[at.black][move & 4095], bonus);
    add(steps_[index(at.black, false, at.answered)][step], bonus);
    add(steps_[index(at.black, true, at.continued)][step], bonus);
  }
  /// The quiet move that last refuted the opponent's `previous`.
  std::uint16_t counter(bool black, std::uint16_t previous) const {
    return counters_[black][previous & 4095];
  }
  void set_counter(bool black, std::uint16_t previous, std::uint16_t move) {
    counters_[black][previous & 4095] = move;
  }

 private:
  using Steps = std::array<std::int16_t, kNoStep>;

  static void add(std::int16_t& value, int bonus) {
    value = static_cast<std::int16_t>(value + bonus - value * std::abs(bonus) / kLimit);
  }
  static std::size_t index(bool black, bool own, int step) {
    return static_cast<std::size_t>((2 * black + own) * (kNoStep + 1) + step);
  }
  const Steps& answers(const Context& at) const {
    return steps_[index(at.black, false, at.answered)];
  }
  const Steps& sequels(const Context& at) const {
    return steps_[index(at.black, true, at.continued)];
  }

  std::array<std::array<std::int16_t, 4096>, 2> values_{};
  std::array<std::array<std::uint16_t, 4096>, 2> counters_{};
  std::vector<Steps> steps_ = std::vector<Steps>(4 * (kNoStep + 1));
};

/// Gives the legal moves of a position best first, making them only when they are needed: the
/// table's move, winning captures, quiet moves by killers and history, losing captures.
class MovePicker {
 public:
  struct Hints {
    std::uint16_t table = 0;
    std::array<std::uint16_t, 2> killers{};
    std::uint16_t counter = 0;
    History::Context context{};
  };

  /// With `noisy_only` quiet moves, losing captures and lesser promotions are left out.
  MovePicker(const Board& board, const Limits& limits, const History& history, const Hints& hints,
             bool noisy_only)
      : board_(board), limits_(limits), history_(history), hints_(hints), noisy_only_(noisy_only) {
    const Move move = unpack_move(hints_.table);
    const bool usable =
        hints_.table && (!noisy_only || is_noisy(board, move)) && is_legal(board, limits, move);
    if (!usable) hints_.table = 0;
  }

  /// The next move, 0 after the last.
  std::uint16_t next() {
    switch (stage_) {
      case Stage::kTable:
        stage_ = Stage::kWinning;
        generate_noisy();
        if (hints_.table) return hints_.table;
        [[fallthrough]];
      case Stage::kWinning:
        while (at_ < size_) {
          const std::uint16_t move = pick_best();
          if (move == hints_.table) continue;
          if (exchange_reaches(board_, unpack_move(move), 0)) return move;
          if (!noisy_only_) losing_[num_losing_++] = move;
        }
        if (noisy_only_) return 0;
        stage_ = Stage::kQuiet;
        generate_quiet();
        [[fallthrough]];
      case Stage::kQuiet:
        while (at_ < size_) {
          const std::uint16_t move = pick_best();
          if (move != hints_.table) return move;
        }
        stage_ = Stage::kLosing;
        [[fallthrough]];
      default:
        return next_losing_ < num_losing_ ? losing_[next_losing_++] : 0;
    }
  }
  /// Whether the last move given was a losing capture.
  bool is_losing() const { return stage_ == Stage::kLosing; }

 private:
  enum class Stage { kTable, kWinning, kQuiet, kLosing };
  struct Scored {
    std::uint16_t move;
    int score;
  };

  void add(int from, int to, Promotion promotion, int score) {
    moves_[size_++] = {
        pack_move({static_cast<std::uint8_t>(from), static_cast<std::uint8_t>(to), promotion}),
        score};
  }
  std::uint16_t pick_best() {
    std::size_t best = at_;
    for (std::size_t i = at_ + 1; i < size_; ++i) {
      if (moves_[i].score > moves_[best].score) best = i;
    }
    std::swap(moves_[at_], moves_[best]);
    return moves_[at_++].move;
  }

  void generate_noisy() {
    at_ = size_ = 0;
    const Bitboard takers =
        board_.en_passant ? chess::detail::en_passant_takers(board_, limits_) : 0;
    const Bitboard king = bit(limits_.king);
    for (Bitboard pieces = limits_.allowed ? board_.ours ^ king : 0; pieces;) {
      const int from = pop_lowest(pieces);
      const Bitboard targets = chess::detail::piece_targets(board_, limits_, from, takers);
      if (!(board_.pawns & bit(from))) {
        add_captures(from, targets & board_.theirs);
        continue;
      }
      add_captures(from, targets & (board_.theirs | board_.en_passant) & ~kRank8);
      for (Bitboard last = targets & kRank8; last;) {
        const int to = pop_lowest(last);
        const int gain = captured_value(board_, {0, static_cast<std::uint8_t>(to)});
        add(from, to, Promotion::kQueen, 16 * (gain + kPieceValues[4]));
        if (noisy_only_) continue;
        add(from, to, Promotion::kKnight, gain - 3);
        add(from, to, Promotion::kRook, gain - 4);
        add(from, to, Promotion::kBishop, gain - 5);
      }
    }
    // Where the king may go is dear to find out: only if there is something to take.
    if (kKingAttacks[limits_.king] & board_.theirs) {
      add_captures(limits_.king, legal_targets(board_, limits_, limits_.king) & board_.theirs);
    }
  }
  void add_captures(int from, Bitboard targets) {
    while (targets) {
      const int to = pop_lowest(targets);
      const Move move{static_cast<std::uint8_t>(from), static_cast<std::uint8_t>(to)};
      // The most valuable victim first, then the least attacker.
      add(from, to, Promotion::kNone, 16 * captured_value(board_, move) - role_at(board_, from));
    }
  }

  void generate_quiet() {
    at_ = size_ = 0;
    const Bitboard wanted = ~board_.theirs;
    for_each_piece(board_, limits_, [&](int from, Bitboard targets) {
      targets &= wanted;
      if (board_.pawns & bit(from)) targets &= ~(kRank8 | board_.en_passant);
      const int role = role_at(board_, from);
      while (targets) {
        const int to = pop_lowest(targets);
        add(from, to, Promotion::kNone, 0);
        Scored& added = moves_[size_ - 1];
        added.score = quiet_score(added.move, pack_step(role, to));
      }
    });
  }
  int quiet_score(std::uint16_t move, int step) const {
    constexpr int kBest = 4 * History::kLimit;  // No history comes near.
    if (move == hints_.killers[0]) return kBest;
    if (move == hints_.killers[1]) return kBest - 1;
    if (move == hints_.counter) return kBest - 2;
    return history_.value(hints_.context, move, step);
  }

  const Board& board_;
  const Limits& limits_;
  const History& history_;
  Hints hints_;
  bool noisy_only_;
  Stage stage_ = Stage::kTable;
  std::size_t at_ = 0, size_ = 0;
  std::size_t num_losing_ = 0, next_losing_ = 0;
  std::array<Scored, 256> moves_;
  std::array<std::uint16_t, 128> losing_;
};

}  // namespace zerogames::chess::nnue
