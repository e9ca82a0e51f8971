#pragma once

// Alpha-beta with what belongs to it. Nothing here knows which features the network has, so that
// different networks are compared on equal terms.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <span>

#include "accumulator.hpp"
#include "correction.hpp"
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

  void forget() {
    history_.clear();
    correction_.clear();
  }
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
      root_depth_ = depth;
      for (std::size_t rank = 0; rank < num_lines; ++rank) {
        SearchInfo& line = lines[rank];
        all_root_moves_ = rank == 0 && limits.moves.empty();
        selective_depth_ = 0;
        root_line_.clear();
        const int score = search_window(root, depth, line.score);
        if (stopped_ && (depth > 1 || rank > 0)) {
          // What beat the best move of the iteration before is better, whatever comes after it.
          if (num_lines == 1 && !root_line_.empty() &&
              pack_move(root_line_[0]) != pack_move(line.line[0])) {
            line = describe(depth, root_score_, line.line);
            report(line);
          }
          break;
        }
        line = describe(depth, score, line.line);
        line.rank = static_cast<int>(rank) + 1;
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
    int raw_evaluation = kNoEvaluation;  ///< As the network says.
    int evaluation = kNoEvaluation;      ///< Corrected.
    std::uint16_t move = 0;              ///< Being searched; 0 for a null move.
    int step = kNoStep;                  ///< Of that move.
    int since_null = 0;
    std::uint16_t excluded = 0;  ///< Left out, to see how good the others are.
    std::array<std::uint16_t, 2> killers{};
    int num_line = 0;
    std::array<Move, kMaxPly> line;
  };

  /// The state of the search; without a line of this iteration it is `old`.
  SearchInfo describe(int depth, int score, const std::vector<Move>& old) const {
    return {1,
            depth,
            selective_depth_,
            score,
            nodes_,
            clock_.elapsed_ms(),
            table_.fill(),
            root_line_.empty() ? old : root_line_};
  }

  /// What the table says of a position.
  struct Known {
    std::uint16_t move = 0;
    int score = 0;
    int depth = 0;
    Bound bound = Bound::kNone;
  };

  int search_window(const Board& root, int depth, int expected) {
    if (depth < 5) return search(root, -kMateScore, kMateScore, depth, 0, false);
    int width = 20;
    int alpha = std::max(expected - width, -kMateScore),
        beta = std::min(expected + width, kMateScore);
    while (true) {
      const int score = search(root, alpha, beta, depth, 0, false);
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
  int raw_evaluation(const TranspositionTable::Entry* found) {
    return found && found->evaluation != kNoEvaluation ? found->evaluation : evaluate();
  }
  int corrected(const Board& board, int evaluation) const {
    // Where nothing happens nothing will: an advantage fades until somebody takes or moves a pawn.
    const int faded = evaluation * (200 - std::min<int>(board.halfmoves, 100)) / 200;
    return std::clamp(faded + correction_.value(board), -kMaxEvaluation, kMaxEvaluation);
  }

  void enter(const Board& next, int ply, std::uint16_t move, int step) {
    stack_[ply].move = move;
    stack_[ply].step = step;
    stack_[ply + 1].since_null = move ? stack_[ply].since_null + 1 : 0;
    keys_.push_back(next.key());
    table_.prefetch(keys_.back());
    evaluator_.push(next);
  }
  void leave() {
    evaluator_.pop();
    keys_.pop_back();
  }

  /// `cut` says that a score of at least beta is expected, as after a move that was expected to
  /// fail.
  int search(const Board& board, int alpha, int beta, int depth, int ply, bool cut,
             bool may_pass = true) {
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
    const Known known =
        found ? Known{found->move, found->score_at(ply), found->depth, found->bound()} : Known{};
    const bool excluding = here.excluded != 0;
    if (!principal && !excluding && known.depth >= depth &&
        cuts(known.bound, known.score, alpha, beta)) {
      return known.score;
    }
    // Without a move to begin with a deep search is dear; the next iteration will have one.
    if (!known.move && principal && depth >= 4) --depth;
    here.raw_evaluation = in_check ? kNoEvaluation : raw_evaluation(found);
    const int evaluation = in_check ? kNoEvaluation : corrected(board, here.raw_evaluation);
    here.evaluation = evaluation;
    const bool improving = !in_check && ply >= 2 && evaluation > stack_[ply - 2].evaluation;
    stack_[ply + 1].killers = {};

    if (!principal && !in_check && !excluding && std::abs(beta) < kMateBound) {
      const int margin = 130 * (depth - improving);
      if (depth <= 7 && evaluation - margin >= beta) return evaluation;
      // Far below alpha only captures can help.
      if (depth <= 3 && evaluation + 300 * depth <= alpha) {
        const int score = quiesce(board, limits, alpha, beta, ply);
        if (stopped_) return 0;
        if (score <= alpha) return score;
      }
      if (depth >= 3 && may_pass && evaluation >= beta && has_piece(board)) {
        const int reduction = 3 + depth / 4 + std::min((evaluation - beta) / 400, 3);
        const int score = search_null(board, beta, depth - 1 - reduction, ply, !cut);
        if (stopped_) return 0;
        if (score >= beta) return std::min(score, kMateBound - 1);
      }
    }
    return search_moves(board, limits, alpha, beta, depth, ply, known, improving, cut);
  }

  int search_null(const Board& board, int beta, int depth, int ply, bool cut) {
    Board next = board;
    next.en_passant = 0;
    next.black_to_move = !board.black_to_move;
    next.castling = flip(board.castling);
    ++next.halfmoves;
    next.turn();
    enter(next, ply, 0, kNoStep);
    const int score = -search(next, -beta, -beta + 1, depth, ply + 1, cut, false);
    leave();
    return score;
  }

  int search_moves(const Board& board, const Limits& limits, int alpha, int beta, int depth,
                   int ply, const Known& known, bool improving, bool cut) {
    Ply& here = stack_[ply];
    const bool in_check = limits.checkers != 0, principal = beta - alpha > 1;
    const bool black = board.black_to_move;
    const std::uint16_t previous = ply > 0 ? stack_[ply - 1].move : 0;
    const std::uint16_t counter = previous ? history_.counter(black, previous) : 0;
    const History::Context context{black, step_before(ply, 1), step_before(ply, 2)};
    MovePicker picker(board, limits, history_, {known.move, here.killers, counter, context}, false);
    const std::uint16_t excluded = here.excluded;
    const int old_alpha = alpha;
    int best = -kMateScore, tried = 0;
    std::uint16_t best_move = 0;
    std::array<std::uint16_t, 64> quiets;
    std::size_t num_quiets = 0;
    while (const std::uint16_t packed = picker.next()) {
      if (ply == 0 && std::ranges::find(root_moves_, packed) == root_moves_.end()) continue;
      if (packed == excluded) continue;
      const Move move = unpack_move(packed);
      const bool quiet = !is_noisy(board, move);
      const int step = pack_step(board, packed);
      const int past = quiet ? history_.value(context, packed, step) : 0;
      if (ply > 0 && best > -kMateBound && !in_check) {
        if (quiet && depth <= 6 && !principal) {
          const int most = (3 + depth * depth) / (improving ? 1 : 2);
          const bool late = static_cast<int>(num_quiets) >= most;
          const bool futile = here.evaluation + 150 + 130 * depth <= alpha;
          const bool poor = depth <= 4 && past < -5'000 * depth;
          if (late || futile || poor) continue;
          if (!exchange_reaches(board, move, -60 * depth)) continue;
        }
        if (!quiet && depth <= 6 && picker.is_losing() &&
            !exchange_reaches(board, move, -200 * depth)) {
          continue;
        }
      }
      ++tried;
      int extension = 0;
      if (packed == known.move && !excluded && may_stand_out(known, depth, ply)) {
        const int bar = known.score - 4 * depth;
        const int others = search_others(board, packed, bar, depth, ply, cut);
        if (stopped_) return 0;
        // Where several moves are good enough, one of them surely is.
        if (others >= bar && bar >= beta) return bar;
        extension = others < bar ? 1 : known.score >= beta ? -1 : 0;
      }
      Board next = board;
      next.play(move);
      enter(next, ply, packed, step);
      const int reduction = depth >= 3 && quiet && tried > (principal ? 4 : 2)
                                ? late_reduction(here, depth, tried, principal, cut, packed, past)
                                : 0;
      const int score =
          search_child(next, alpha, beta, depth - 1 + extension, ply, tried == 1, reduction, cut);
      leave();
      if (stopped_) return 0;
      if (score > best) {
        best = score;
        if (score > alpha) {
          best_move = packed;
          alpha = score;
          if (principal) extend_line(ply, move);
          if (ply == 0) {
            root_score_ = score;
            root_line_.assign(here.line.begin(), here.line.begin() + here.num_line);
          }
        }
      }
      if (alpha >= beta) {
        if (quiet) reward(board, ply, depth, packed, context, {quiets.data(), num_quiets});
        break;
      }
      if (quiet && num_quiets < quiets.size()) quiets[num_quiets++] = packed;
    }
    if (tried == 0 && excluded) return alpha;
    if (tried == 0) return in_check ? -kMateScore + ply : 0;
    const Bound bound = best >= beta       ? Bound::kLower
                        : best > old_alpha ? Bound::kExact
                                           : Bound::kUpper;
    const bool tells =
        bound == Bound::kExact || (bound == Bound::kLower) == (best > here.evaluation);
    const bool settled = !best_move || !is_noisy(board, unpack_move(best_move));
    if (!in_check && !excluded && tells && settled && std::abs(best) < kMateBound) {
      correction_.learn(board, best - here.raw_evaluation, depth);
    }
    // What is true of some of the moves only must not be remembered as the position's.
    if (!excluded && (ply > 0 || all_root_moves_)) {
      table_.store(keys_.back(), best_move, best, here.raw_evaluation, depth, bound, ply);
    }
    return best;
  }

  /// Whether it is worth finding out if the table's move is better than all others.
  bool may_stand_out(const Known& known, int depth, int ply) const {
    return ply > 0 && ply < 2 * root_depth_ && depth >= 7 && known.depth >= depth - 3 &&
           (known.bound == Bound::kLower || known.bound == Bound::kExact) &&
           std::abs(known.score) < kMateBound;
  }

  /// Whether any other move reaches the bar, at half the depth: if none does, the table's move
  /// deserves one ply more.
  int search_others(const Board& board, std::uint16_t move, int bar, int depth, int ply, bool cut) {
    stack_[ply].excluded = move;
    const int score = search(board, bar - 1, bar, (depth - 1) / 2, ply, cut, false);
    stack_[ply].excluded = 0;
    return score;
  }

  int step_before(int ply, int moves) const {
    return ply >= moves ? stack_[ply - moves].step : kNoStep;
  }

  /// Of the depth of a quiet move that comes late.
  int late_reduction(const Ply& here, int depth, int tried, bool principal, bool cut,
                     std::uint16_t packed, int past) const {
    int reduction = reductions_[std::min(depth, 63)][std::min(tried, 63)];
    reduction -= principal;
    reduction += cut;
    reduction -= packed == here.killers[0] || packed == here.killers[1];
    reduction -= past / 10'000;
    return std::clamp(reduction, 0, depth - 2);
  }

  /// Zero windows for all moves but the first, late ones at less depth; what surprises is searched
  /// again.
  int search_child(const Board& next, int alpha, int beta, int depth, int ply, bool first,
                   int reduction, bool cut) {
    if (first) return -search(next, -beta, -alpha, depth, ply + 1, beta - alpha == 1 && !cut);
    int score =
        -search(next, -alpha - 1, -alpha, depth - reduction, ply + 1, reduction > 0 || !cut);
    if (score > alpha && reduction > 0) {
      score = -search(next, -alpha - 1, -alpha, depth, ply + 1, !cut);
    }
    if (score > alpha && score < beta) {
      score = -search(next, -beta, -alpha, depth, ply + 1, false);
    }
    return score;
  }

  void reward(const Board& board, int ply, int depth, std::uint16_t move,
              const History::Context& context, std::span<const std::uint16_t> failed) {
    Ply& here = stack_[ply];
    if (here.killers[0] != move) here.killers = {move, here.killers[0]};
    const std::uint16_t previous = ply > 0 ? stack_[ply - 1].move : 0;
    if (previous) history_.set_counter(context.black, previous, move);
    const int bonus = std::min(16 * depth * depth + 32 * depth, 1'600);
    history_.add(context, move, pack_step(board, move), bonus);
    for (const std::uint16_t other : failed) {
      history_.add(context, other, pack_step(board, other), -bonus);
    }
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
    int best = -kMateScore + ply, raw = kNoEvaluation, evaluation = kNoEvaluation;
    if (!in_check) {
      raw = raw_evaluation(found);
      best = evaluation = corrected(board, raw);
      if (best >= beta) {
        if (!found) table_.store(key, 0, best, raw, 0, Bound::kLower, ply);
        return best;
      }
    }
    const int old_alpha = alpha;
    alpha = std::max(alpha, best);
    const History::Context context{board.black_to_move, step_before(ply, 1), step_before(ply, 2)};
    const std::uint16_t table_move = found ? found->move : std::uint16_t{0};
    MovePicker picker(board, limits, history_, {table_move, {}, 0, context}, !in_check);
    std::uint16_t best_move = 0;
    while (const std::uint16_t packed = picker.next()) {
      const Move move = unpack_move(packed);
      if (!in_check && move.promotion == Promotion::kNone &&
          evaluation + captured_value(board, move) + 250 <= alpha) {
        continue;
      }
      Board next = board;
      next.play(move);
      enter(next, ply, packed, pack_step(board, packed));
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
    table_.store(key, best_move, best, raw, 0, bound, ply);
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
  Correction correction_;
  Clock clock_;
  const std::atomic<bool>* stop_ = nullptr;
  bool stopped_ = false;
  std::uint64_t nodes_ = 0;
  int root_depth_ = 0;
  int selective_depth_ = 0;
  std::vector<std::uint16_t> root_moves_;  ///< Those to choose from.
  bool all_root_moves_ = true;
  int root_score_ = 0;           ///< Of the best move of this iteration so far,
  std::vector<Move> root_line_;  ///< and what follows it; none yet: empty.
  std::vector<std::uint64_t> keys_;
  std::array<Ply, kMaxPly + 2> stack_;
  std::array<std::array<std::int8_t, 64>, 64> reductions_{};
};

}  // namespace zerogames::chess::nnue
