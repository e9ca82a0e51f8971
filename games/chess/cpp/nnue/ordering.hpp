#pragma once

#include <algorithm>
#include <vector>

#include "static_exchange.hpp"

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

/// A step: a piece and its target square, in the mover's view. Indexes continuation history.
constexpr int pack_step(int role, int to) { return role * 64 + to; }
inline int pack_step(const Board& board, std::uint16_t move) {
  return pack_step(role_at(board, move & 63), move >> 6 & 63);
}
/// Stands for the missing step before the first move and after a null move.
inline constexpr int kNoStep = pack_step(6, 0);

/// How often quiet moves caused cutoffs in this search: butterfly history (from and to square) plus
/// 1-ply and 2-ply continuation history (the move after the opponent's last and the own last step).
class History {
 public:
  static constexpr int kLimit = 16'384;  ///< Bound on the absolute value of each of the three.

  struct Context {
    bool black = false;           ///< Whether black is to move.
    int one_ply_ago = kNoStep;    ///< The opponent's last step.
    int two_plies_ago = kNoStep;  ///< The mover's own last step.
  };

  void clear() {
    butterfly_ = {};
    countermoves_ = {};
    std::ranges::fill(continuation_, Steps{});
  }
  int value(const Context& at, std::uint16_t move, int step) const {
    return butterfly_[at.black][move & 4095] +
           continuation_[index(at.black, 1, at.one_ply_ago)][step] +
           continuation_[index(at.black, 2, at.two_plies_ago)][step];
  }
  /// Adds a bonus or malus with history gravity: the nearer to the limit, the smaller the step.
  void add(const Context& at, std::uint16_t move, int step, int bonus) {
    add(butterfly_[at.black][move & 4095], bonus);
    add(continuation_[index(at.black, 1, at.one_ply_ago)][step], bonus);
    add(continuation_[index(at.black, 2, at.two_plies_ago)][step], bonus);
  }
  /// The countermove: the quiet move that last refuted the opponent's `previous`.
  std::uint16_t countermove(bool black, std::uint16_t previous) const {
    return countermoves_[black][previous & 4095];
  }
  void set_countermove(bool black, std::uint16_t previous, std::uint16_t move) {
    countermoves_[black][previous & 4095] = move;
  }

 private:
  using Steps = std::array<std::int16_t, kNoStep>;

  static void add(std::int16_t& value, int bonus) {
    value = static_cast<std::int16_t>(value + bonus - value * std::abs(bonus) / kLimit);
  }
  static std::size_t index(bool black, int plies_ago, int step) {
    return static_cast<std::size_t>((2 * black + plies_ago - 1) * (kNoStep + 1) + step);
  }

  std::array<std::array<std::int16_t, 4096>, 2> butterfly_{};
  std::array<std::array<std::uint16_t, 4096>, 2> countermoves_{};
  std::vector<Steps> continuation_ = std::vector<Steps>(4 * (kNoStep + 1));
};

/// Staged move generation, best moves first: the transposition table's move, winning captures
/// (static exchange evaluation), quiet moves by killers, countermove and history, losing captures.
class MovePicker {
 public:
  struct Hints {
    std::uint16_t table_move = 0;
    std::array<std::uint16_t, 2> killers{};
    std::uint16_t countermove = 0;
    History::Context context{};
  };

  /// `noisy_only` leaves out quiet moves, losing captures and underpromotions (quiescence search).
  MovePicker(const Board& board, const CheckInfo& checks, const History& history,
             const Hints& hints, bool noisy_only)
      : board_(board), checks_(checks), history_(history), hints_(hints), noisy_only_(noisy_only) {
    const Move move = unpack_move(hints_.table_move);
    const bool usable = hints_.table_move && (!noisy_only || is_noisy(board, move)) &&
                        is_legal(board, checks, move);
    if (!usable) hints_.table_move = 0;
  }

  /// The next move, 0 after the last.
  std::uint16_t next() {
    switch (stage_) {
      case Stage::kTable:
        stage_ = Stage::kWinning;
        generate_noisy();
        if (hints_.table_move) return hints_.table_move;
        [[fallthrough]];
      case Stage::kWinning:
        while (at_ < size_) {
          const std::uint16_t move = pick_best();
          if (move == hints_.table_move) continue;
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
          if (move != hints_.table_move) return move;
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
        board_.en_passant ? chess::detail::en_passant_takers(board_, checks_) : 0;
    const Bitboard king = bit(checks_.king);
    for (Bitboard pieces = checks_.evasion_mask ? board_.ours ^ king : 0; pieces;) {
      const int from = pop_lowest(pieces);
      const Bitboard targets = chess::detail::piece_targets(board_, checks_, from, takers);
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
    // The king's legal squares are expensive to compute: only if it attacks something.
    if (kKingAttacks[checks_.king] & board_.theirs) {
      add_captures(checks_.king, legal_targets(board_, checks_, checks_.king) & board_.theirs);
    }
  }
  void add_captures(int from, Bitboard targets) {
    while (targets) {
      const int to = pop_lowest(targets);
      const Move move{static_cast<std::uint8_t>(from), static_cast<std::uint8_t>(to)};
      // MVV-LVA: the most valuable victim first, then the least valuable attacker.
      add(from, to, Promotion::kNone, 16 * captured_value(board_, move) - role_at(board_, from));
    }
  }

  void generate_quiet() {
    at_ = size_ = 0;
    const Bitboard wanted = ~board_.theirs;
    for_each_piece(board_, checks_, [&](int from, Bitboard targets) {
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
    constexpr int kBest = 4 * History::kLimit;  // Above every sum of histories.
    if (move == hints_.killers[0]) return kBest;
    if (move == hints_.killers[1]) return kBest - 1;
    if (move == hints_.countermove) return kBest - 2;
    return history_.value(hints_.context, move, step);
  }

  const Board& board_;
  const CheckInfo& checks_;
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
