#pragma once

// Alpha-beta with what belongs to it. Nothing here knows which features the network has, so that
// different networks are compared on equal terms.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>

#include "accumulator.hpp"
#include "limits.hpp"
#include "ordering.hpp"
#include "transposition.hpp"

namespace zerogames::chess::nnue {

struct SearchInfo {
  int rank = 1;  ///< Among the lines that are wanted, the best first.
  int depth = 0;
  int selective_depth = 0;
  int score = 0;  ///< In the side to move's view.
  std::uint64_t nodes = 0;
  std::int64_t time_ms = 0;
  int hash_fill = 0;       ///< Permille.
  std::vector<Move> line;  ///< Each in its mover's view.
};

/// No side can mate.
inline bool is_dead(const Board& board) {
  if (board.pawns | board.straights) return false;
  const Bitboard bishops = board.diagonals, knights = board.knights;
  if (knights) return !bishops && !(knights & (knights - 1));
  return !(bishops & kLightSquares) || !(bishops & ~kLightSquares);
}

class Search {
 public:
  using Report = std::function<void(const SearchInfo&)>;

  Search(const Network& network, TranspositionTable& table) : evaluator_(network), table_(table) {
    for (int depth = 1; depth < 64; ++depth) {
      for (int move = 1; move < 64; ++move) {
        reductions_[depth][move] =
            static_cast<std::int8_t>(0.75 + std::log(depth) * std::log(move) / 2.25);
      }
    }
  }

  void forget() { history_.clear(); }
  const Counters& counters() const { return evaluator_.counters(); }

  /// Searches until a limit or `stop`. `past` holds the keys of the positions before, oldest first,
  /// as far back as the last capture or pawn move. `allowed` are the root moves to choose from, at
  /// least one. Returns the best line; `report` is told of all that are wanted.
  SearchInfo run(const Board& root, const std::vector<std::uint64_t>& past,
                 const std::vector<std::uint16_t>& allowed, const SearchLimits& limits,
                 const std::atomic<bool>& stop, const Report& report) {
    clock_.start(limits);
    stop_ = &stop;
    stopped_ = false;
    nodes_ = 0;
    table_.start_search();
    keys_.assign(past.begin(), past.end());
    keys_.push_back(root.key());
    stack_ = {};
    evaluator_.reset(root);
    const auto num_lines = std::clamp<std::size_t>(
        static_cast<std::size_t>(std::max(1, limits.lines)), 1, allowed.size());
    std::vector<SearchInfo> lines(num_lines);
    lines[0].line.push_back(unpack_move(allowed[0]));
    const int most = limits.depth > 0 ? std::min(limits.depth, kMaxPly - 1) : kMaxPly - 1;
    for (int depth = 1; depth <= most && !stopped_; ++depth) {
      // Each line is the best one without the moves of the lines before.
      root_moves_ = allowed;
      for (std::size_t rank = 0; rank < num_lines; ++rank) {
        SearchInfo& line = lines[rank];
        all_root_moves_ = rank == 0 && limits.moves.empty();
        selective_depth_ = 0;
        const int score = search_window(root, depth, line.score);
        if (stopped_ && (depth > 1 || rank > 0)) break;
        line = {static_cast<int>(rank) + 1,
                depth,
                selective_depth_,
                score,
                nodes_,
                clock_.elapsed_ms(),
                table_.fill(),
                stack_[0].num_line ? std::vector<Move>(stack_[0].line.begin(),
                                                       stack_[0].line.begin() + stack_[0].num_line)
                                   : line.line};
        if (stopped_) break;
        if (line.line.empty()) line.line.push_back(unpack_move(root_moves_[0]));
        std::erase(root_moves_, pack_move(line.line[0]));
      }
      if (stopped_) break;
      // The scores of one depth may come out of order.
      std::ranges::stable_sort(lines, std::greater(), &SearchInfo::score);
      for (std::size_t rank = 0; rank < num_lines; ++rank) {
        lines[rank].rank = static_cast<int>(rank) + 1;
        report(lines[rank]);
      }
      if (clock_.is_enough()) break;
      // A mate that is nearer than the depth cannot become shorter.
      const int score = lines[0].score;
      const bool timed = limits.soft_ms || limits.move_time_ms;
      if (timed && std::abs(score) >= kMateBound && kMateScore - std::abs(score) < depth) break;
    }
    SearchInfo best = lines[0];
    best.nodes = nodes_;
    best.time_ms = clock_.elapsed_ms();
    return best;
  }

 private:
  struct Ply {
    int evaluation = kNoEvaluation;
    std::uint16_t move = 0;  ///< Being searched; 0 for a null move.
    int since_null = 0;
    std::array<std::uint16_t, 2> killers{};
    int num_line = 0;
    std::array<Move, kMaxPly> line;
  };

  int search_window(const Board& root, int depth, int expected) {
    if (depth < 5) return search(root, -kMateScore, kMateScore, depth, 0, true);
    int width = 20;
    int alpha = std::max(expected - width, -kMateScore),
        beta = std::min(expected + width, kMateScore);
    while (true) {
      const int score = search(root, alpha, beta, depth, 0, true);
      if (stopped_ || (score > alpha && score < beta)) return score;
      width *= 2;
      if (width > 2000) width = 2 * kMateScore;
      if (score <= alpha) {
        alpha = std::max(score - width, -kMateScore);
      } else {
        beta = std::min(score + width, kMateScore);
      }
    }
  }

  bool must_stop() {
    if (!stopped_) {
      stopped_ = clock_.is_over(nodes_) ||
                 ((nodes_ & 1023) == 0 && stop_->load(std::memory_order_relaxed));
    }
    return stopped_;
  }

  /// Whether the newest position was there before, on this line or in the game.
  bool is_repetition(const Board& board, int ply) const {
    const int reach = std::min<int>(board.halfmoves, stack_[ply].since_null);
    const auto size = static_cast<int>(keys_.size());
    for (int back = 4; back <= reach && back < size; back += 2) {
      if (keys_[size - 1 - back] == keys_[size - 1]) return true;
    }
    return false;
  }

  int evaluate() { return std::clamp(evaluator_.evaluate(), -kMaxEvaluation, kMaxEvaluation); }

  void enter(const Board& next, int ply, std::uint16_t move) {
    stack_[ply].move = move;
    stack_[ply + 1].since_null = move ? stack_[ply].since_null + 1 : 0;
    keys_.push_back(next.key());
    table_.prefetch(keys_.back());
    evaluator_.push(next);
  }
  void leave() {
    evaluator_.pop();
    keys_.pop_back();
  }

  int search(const Board& board, int alpha, int beta, int depth, int ply, bool may_pass) {
    Ply& here = stack_[ply];
    here.num_line = 0;
    if (ply > 0) {
      if (board.halfmoves >= 100 && !is_mate(board)) return 0;
      if (is_repetition(board, ply) || is_dead(board)) return 0;
      if (ply >= kMaxPly - 2) return evaluate();
      alpha = std::max(alpha, -kMateScore + ply);
      beta = std::min(beta, kMateScore - ply - 1);
      if (alpha >= beta) return alpha;
    } else {
      here.since_null = 1'000;
    }
    const Limits limits = find_limits(board);
    const bool in_check = limits.checkers != 0;
    if (in_check) ++depth;
    if (depth <= 0) return quiesce(board, limits, alpha, beta, ply);
    if (must_stop()) return 0;
    ++nodes_;
    selective_depth_ = std::max(selective_depth_, ply);

    const bool principal = beta - alpha > 1;
    const std::uint64_t key = keys_.back();
    const auto* found = table_.find(key);
    const std::uint16_t table_move = found ? found->move : 0;
    if (found && !principal && found->depth >= depth) {
      const int score = found->score_at(ply);
      if (cuts(found->bound(), score, alpha, beta)) return score;
    }
    int evaluation = kNoEvaluation;
    if (!in_check) {
      evaluation = found && found->evaluation != kNoEvaluation ? found->evaluation : evaluate();
    }
    here.evaluation = evaluation;
    const bool improving = !in_check && ply >= 2 && evaluation > stack_[ply - 2].evaluation;
    stack_[ply + 1].killers = {};

    if (!principal && !in_check && std::abs(beta) < kMateBound) {
      const int margin = 130 * (depth - improving);
      if (depth <= 7 && evaluation - margin >= beta) return evaluation;
      if (depth >= 3 && may_pass && evaluation >= beta && has_piece(board)) {
        const int score = search_null(board, beta, depth, ply);
        if (stopped_) return 0;
        if (score >= beta) return std::min(score, kMateBound - 1);
      }
    }
    return search_moves(board, limits, alpha, beta, depth, ply, table_move, improving);
  }

  int search_null(const Board& board, int beta, int depth, int ply) {
    Board next = board;
    next.en_passant = 0;
    next.black_to_move = !board.black_to_move;
    next.castling = flip(board.castling);
    ++next.halfmoves;
    next.turn();
    enter(next, ply, 0);
    const int score = -search(next, -beta, -beta + 1, depth - 1 - (3 + depth / 4), ply + 1, false);
    leave();
    return score;
  }

  int search_moves(const Board& board, const Limits& limits, int alpha, int beta, int depth,
                   int ply, std::uint16_t table_move, bool improving) {
    Ply& here = stack_[ply];
    const bool in_check = limits.checkers != 0, principal = beta - alpha > 1;
    const bool black = board.black_to_move;
    const std::uint16_t previous = ply > 0 ? stack_[ply - 1].move : 0;
    const std::uint16_t counter = previous ? history_.counter(black, previous) : 0;
    MovePicker picker(board, limits, history_, {table_move, here.killers, counter}, false);
    const int old_alpha = alpha;
    int best = -kMateScore, tried = 0;
    std::uint16_t best_move = 0;
    std::array<std::uint16_t, 64> quiets;
    std::size_t num_quiets = 0;
    while (const std::uint16_t packed = picker.next()) {
      if (ply == 0 && std::ranges::find(root_moves_, packed) == root_moves_.end()) continue;
      const Move move = unpack_move(packed);
      const bool quiet = !is_noisy(board, move);
      if (ply > 0 && best > -kMateBound && !in_check) {
        if (quiet && depth <= 6 && !principal) {
          const int most = (3 + depth * depth) / (improving ? 1 : 2);
          const bool late = static_cast<int>(num_quiets) >= most;
          const bool futile = here.evaluation + 150 + 130 * depth <= alpha;
          if (late || futile) continue;
        }
        if (!quiet && depth <= 6 && picker.is_losing() &&
            !exchange_reaches(board, move, -200 * depth)) {
          continue;
        }
      }
      ++tried;
      Board next = board;
      next.play(move);
      enter(next, ply, packed);
      const int score = search_child(next, alpha, beta, depth, ply, tried, quiet, packed);
      leave();
      if (stopped_) return 0;
      if (score > best) {
        best = score;
        if (score > alpha) {
          best_move = packed;
          alpha = score;
          if (principal) extend_line(ply, move);
        }
      }
      if (alpha >= beta) {
        if (quiet) reward(board, ply, depth, packed, previous, quiets, num_quiets);
        break;
      }
      if (quiet && num_quiets < quiets.size()) quiets[num_quiets++] = packed;
    }
    if (tried == 0) return in_check ? -kMateScore + ply : 0;
    const Bound bound = best >= beta       ? Bound::kLower
                        : best > old_alpha ? Bound::kExact
                                           : Bound::kUpper;
    // What is true of some of the moves only must not be remembered as the position's.
    if (ply > 0 || all_root_moves_) {
      table_.store(keys_.back(), best_move, best, here.evaluation, depth, bound, ply);
    }
    return best;
  }

  /// Zero windows for all moves but the first, late ones at less depth; what surprises is searched
  /// again.
  int search_child(const Board& next, int alpha, int beta, int depth, int ply, int tried,
                   bool quiet, std::uint16_t packed) {
    const bool principal = beta - alpha > 1;
    if (tried == 1) return -search(next, -beta, -alpha, depth - 1, ply + 1, true);
    int reduction = 0;
    if (depth >= 3 && tried > (principal ? 4 : 2) && quiet) {
      const Ply& here = stack_[ply];
      reduction = reductions_[std::min(depth, 63)][std::min(tried, 63)];
      reduction -= principal;
      reduction -= packed == here.killers[0] || packed == here.killers[1];
      reduction -= history_.value(!next.black_to_move, packed) / 6'000;
      reduction = std::clamp(reduction, 0, depth - 2);
    }
    int score = -search(next, -alpha - 1, -alpha, depth - 1 - reduction, ply + 1, true);
    if (score > alpha && reduction > 0) {
      score = -search(next, -alpha - 1, -alpha, depth - 1, ply + 1, true);
    }
    if (score > alpha && score < beta) {
      score = -search(next, -beta, -alpha, depth - 1, ply + 1, true);
    }
    return score;
  }

  void reward(const Board& board, int ply, int depth, std::uint16_t move, std::uint16_t previous,
              const std::array<std::uint16_t, 64>& quiets, std::size_t num_quiets) {
    Ply& here = stack_[ply];
    if (here.killers[0] != move) here.killers = {move, here.killers[0]};
    const bool black = board.black_to_move;
    if (previous) history_.set_counter(black, previous, move);
    const int bonus = std::min(16 * depth * depth + 32 * depth, 1'600);
    history_.add(black, move, bonus);
    for (std::size_t i = 0; i < num_quiets; ++i) history_.add(black, quiets[i], -bonus);
  }

  /// Only captures and queen promotions, or all moves in check, until it is quiet.
  int quiesce(const Board& board, const Limits& limits, int alpha, int beta, int ply) {
    if (must_stop()) return 0;
    ++nodes_;
    selective_depth_ = std::max(selective_depth_, ply);
    if (ply >= kMaxPly - 2) return evaluate();
    const bool in_check = limits.checkers != 0;
    const std::uint64_t key = keys_.back();
    const auto* found = table_.find(key);
    if (found && beta - alpha == 1) {
      const int score = found->score_at(ply);
      if (cuts(found->bound(), score, alpha, beta)) return score;
    }
    int best = -kMateScore + ply, evaluation = kNoEvaluation;
    if (!in_check) {
      evaluation = found && found->evaluation != kNoEvaluation ? found->evaluation : evaluate();
      best = evaluation;
      if (best >= beta) {
        if (!found) table_.store(key, 0, best, evaluation, 0, Bound::kLower, ply);
        return best;
      }
    }
    const int old_alpha = alpha;
    alpha = std::max(alpha, best);
    MovePicker picker(board, limits, history_, {found ? found->move : std::uint16_t{0}, {}, 0},
                      !in_check);
    std::uint16_t best_move = 0;
    while (const std::uint16_t packed = picker.next()) {
      const Move move = unpack_move(packed);
      if (!in_check && move.promotion == Promotion::kNone &&
          evaluation + captured_value(board, move) + 250 <= alpha) {
        continue;
      }
      Board next = board;
      next.play(move);
      enter(next, ply, packed);
      const int score =
          is_dead(next) ? 0 : -quiesce(next, find_limits(next), -beta, -alpha, ply + 1);
      leave();
      if (stopped_) return 0;
      if (score > best) {
        best = score;
        if (score > alpha) {
          alpha = score;
          best_move = packed;
        }
      }
      if (alpha >= beta) break;
    }
    const Bound bound = best >= beta       ? Bound::kLower
                        : best > old_alpha ? Bound::kExact
                                           : Bound::kUpper;
    table_.store(key, best_move, best, evaluation, 0, bound, ply);
    return best;
  }

  static bool cuts(Bound bound, int score, int alpha, int beta) {
    return bound == Bound::kExact || (bound == Bound::kLower && score >= beta) ||
           (bound == Bound::kUpper && score <= alpha);
  }
  static bool has_piece(const Board& board) {
    return (board.ours & ~board.pawns & ~board.kings) != 0;
  }
  static bool is_mate(const Board& board) {
    const Limits limits = find_limits(board);
    return limits.checkers && !has_legal_move(board, limits);
  }

  void extend_line(int ply, Move move) {
    Ply& here = stack_[ply];
    const Ply& below = stack_[ply + 1];
    here.line[0] = move;
    const int length = std::min(below.num_line, kMaxPly - 1);
    std::copy_n(below.line.begin(), length, here.line.begin() + 1);
    here.num_line = length + 1;
  }

  Evaluator evaluator_;
  TranspositionTable& table_;
  History history_;
  Clock clock_;
  const std::atomic<bool>* stop_ = nullptr;
  bool stopped_ = false;
  std::uint64_t nodes_ = 0;
  int selective_depth_ = 0;
  std::vector<std::uint16_t> root_moves_;  ///< Those to choose from.
  bool all_root_moves_ = true;
  std::vector<std::uint64_t> keys_;
  std::array<Ply, kMaxPly + 2> stack_;
  std::array<std::array<std::int8_t, 64>, 64> reductions_{};
};

}  // namespace zerogames::chess::nnue
