#pragma once

// Principal variation search: iterative deepening, aspiration windows, transposition table,
// quiescence search, null-move pruning, reverse futility pruning, razoring, late-move pruning,
// futility pruning, late-move reductions, singular extensions with multi-cut, butterfly,
// continuation and correction history. Nothing here knows which features the network has, so that
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
  int rank = 1;  ///< Of the line in multi-PV, 1 for the best.
  int depth = 0;
  int selective_depth = 0;
  int score = 0;  ///< In the view of the side to move.
  std::uint64_t nodes = 0;
  std::int64_t time_ms = 0;
  int hash_fill = 0;       ///< Permille.
  std::vector<Move> line;  ///< Principal variation, each move in its mover's view.
};

/// Whether the material lets neither side give mate.
inline bool is_dead(const Board& board) {
  if (board.pawns | board.straights) return false;
  const Bitboard bishops = board.diagonals, knights = board.knights;
  if (knights) return !bishops && !(knights & (knights - 1));
  return !(bishops & kLightSquares) || !(bishops & ~kLightSquares);
}

class Search {
 public:
  using Report = std::function<void(const SearchInfo&)>;

  Search(const Network& network, TranspositionTable& table)
      : accumulators_(network), table_(table) {
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
  const Counters& counters() const { return accumulators_.counters(); }

  /// Iterative deepening until a limit or `stop`. `past` holds the keys of the earlier positions
  /// since the last capture or pawn move, oldest first. `allowed` are the root moves to choose
  /// from, at least one. Returns the best line; `report` is called with every line of multi-PV.
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
    accumulators_.reset(root);
    const auto num_lines = std::clamp<std::size_t>(
        static_cast<std::size_t>(std::max(1, limits.lines)), 1, allowed.size());
    std::vector<SearchInfo> lines(num_lines);
    lines[0].line.push_back(unpack_move(allowed[0]));
    const int most = limits.depth > 0 ? std::min(limits.depth, kMaxPly - 1) : kMaxPly - 1;
    for (int depth = 1; depth <= most && !stopped_; ++depth) {
      // Multi-PV: each line leaves out the first moves of the better lines.
      root_moves_ = allowed;
      root_depth_ = depth;
      for (std::size_t rank = 0; rank < num_lines; ++rank) {
        SearchInfo& line = lines[rank];
        all_root_moves_ = rank == 0 && limits.moves.empty();
        selective_depth_ = 0;
        root_line_.clear();
        const int score = aspiration_search(root, depth, line.score);
        if (stopped_ && (depth > 1 || rank > 0)) {
          // A move that has already beaten the best move of the last iteration is kept.
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
      // Lines of one depth are not always found in the order of their scores.
      std::ranges::stable_sort(lines, std::greater(), &SearchInfo::score);
      for (std::size_t rank = 0; rank < num_lines; ++rank) {
        lines[rank].rank = static_cast<int>(rank) + 1;
        report(lines[rank]);
      }
      if (clock_.is_enough()) break;
      // A mate shorter than the depth cannot become shorter in a deeper iteration.
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
  /// The search stack: one entry per ply of the current line.
  struct Ply {
    int raw_evaluation = kNoEvaluation;  ///< Static evaluation by the network.
    int evaluation = kNoEvaluation;      ///< Static evaluation with correction history.
    std::uint16_t move = 0;              ///< The move being searched; 0 for a null move.
    int step = kNoStep;                  ///< The step of that move.
    int since_null = 0;                  ///< Plies since the last null move.
    std::uint16_t excluded = 0;          ///< The move a singular search leaves out, else 0.
    std::array<std::uint16_t, 2> killers{};
    int num_line = 0;
    std::array<Move, kMaxPly> line;  ///< Principal variation from here, `num_line` moves.
  };

  /// How a node is searched.
  struct Node {
    int alpha = 0;
    int beta = 0;
    int depth = 0;
    int ply = 0;
    bool cut_node = false;  ///< A fail-high is expected, as after a move expected to fail low.
    bool null_allowed = true;
  };

  /// The state of the search; `old` is the line if this iteration has none yet.
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

  /// The transposition table's entry of a node, with the score relative to the root.
  struct TableHit {
    std::uint16_t move = 0;
    int score = 0;
    int depth = 0;
    Bound bound = Bound::kNone;
  };

  /// Searches the root with an aspiration window around the score of the last iteration, which
  /// widens until the score falls inside.
  int aspiration_search(const Board& root, int depth, int expected) {
    if (depth < 5) return search(root, {-kMateScore, kMateScore, depth});
    int width = 20;
    int alpha = std::max(expected - width, -kMateScore),
        beta = std::min(expected + width, kMateScore);
    while (true) {
      const int score = search(root, {alpha, beta, depth});
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

  /// Whether the current position occurred before, on this line or in the game.
  bool is_repetition(const Board& board, int ply) const {
    const int reach = std::min<int>(board.halfmoves, stack_[ply].since_null);
    const auto size = static_cast<int>(keys_.size());
    for (int back = 4; back <= reach && back < size; back += 2) {
      if (keys_[size - 1 - back] == keys_[size - 1]) return true;
    }
    return false;
  }

  int evaluate() { return std::clamp(accumulators_.evaluate(), -kMaxEvaluation, kMaxEvaluation); }
  int raw_evaluation(const TranspositionTable::Entry* found) {
    return found && found->evaluation != kNoEvaluation ? found->evaluation : evaluate();
  }
  int corrected(const Board& board, int evaluation) const {
    // Scaled down with the fifty-move counter: shuffling is a sign that there is no progress.
    const int scaled = evaluation * (200 - std::min<int>(board.halfmoves, 100)) / 200;
    return std::clamp(scaled + correction_.value(board), -kMaxEvaluation, kMaxEvaluation);
  }

  void enter(const Board& next, int ply, std::uint16_t move, int step) {
    stack_[ply].move = move;
    stack_[ply].step = step;
    stack_[ply + 1].since_null = move ? stack_[ply].since_null + 1 : 0;
    keys_.push_back(next.key());
    table_.prefetch(keys_.back());
    accumulators_.push(next);
  }
  void leave() {
    accumulators_.pop();
    keys_.pop_back();
  }

  int search(const Board& board, Node node) {
    auto& [alpha, beta, depth, ply, cut_node, null_allowed] = node;
    Ply& here = stack_[ply];
    here.num_line = 0;
    if (ply > 0) {
      if (board.halfmoves >= 100 && !is_mate(board)) return 0;
      if (is_repetition(board, ply) || is_dead(board)) return 0;
      if (ply >= kMaxPly - 2) return evaluate();
      // Mate-distance pruning.
      alpha = std::max(alpha, -kMateScore + ply);
      beta = std::min(beta, kMateScore - ply - 1);
      if (alpha >= beta) return alpha;
    } else {
      here.since_null = 1'000;
    }
    const CheckInfo checks = find_checks(board);
    const bool in_check = checks.checkers != 0;
    if (in_check) ++depth;  // Check extension.
    if (depth <= 0) return quiescence_search(board, checks, alpha, beta, ply);
    if (must_stop()) return 0;
    ++nodes_;
    selective_depth_ = std::max(selective_depth_, ply);

    const bool pv_node = beta - alpha > 1;
    const std::uint64_t key = keys_.back();
    const auto* found = table_.find(key);
    const TableHit hit =
        found ? TableHit{found->move, found->score_at(ply), found->depth, found->bound()}
              : TableHit{};
    const bool excluding = here.excluded != 0;
    if (!pv_node && !excluding && hit.depth >= depth &&
        is_cutoff(hit.bound, hit.score, alpha, beta)) {
      return hit.score;
    }
    // Internal iterative reduction: a deep search without a table move is expensive, and the next
    // iteration will have one.
    if (!hit.move && pv_node && depth >= 4) --depth;
    here.raw_evaluation = in_check ? kNoEvaluation : raw_evaluation(found);
    const int evaluation = in_check ? kNoEvaluation : corrected(board, here.raw_evaluation);
    here.evaluation = evaluation;
    const bool improving = !in_check && ply >= 2 && evaluation > stack_[ply - 2].evaluation;
    stack_[ply + 1].killers = {};

    if (!pv_node && !in_check && !excluding && std::abs(beta) < kMateBound) {
      // Reverse futility pruning: far above beta at low depth.
      const int margin = 130 * (depth - improving);
      if (depth <= 7 && evaluation - margin >= beta) return evaluation;
      // Razoring: far below alpha only captures can help.
      if (depth <= 3 && evaluation + 300 * depth <= alpha) {
        const int score = quiescence_search(board, checks, alpha, beta, ply);
        if (stopped_) return 0;
        if (score <= alpha) return score;
      }
      // Null-move pruning; without pieces zugzwang is likely.
      if (depth >= 3 && null_allowed && evaluation >= beta && has_piece(board)) {
        const int reduction = 3 + depth / 4 + std::min((evaluation - beta) / 400, 3);
        const int score = null_move_search(board, node, depth - 1 - reduction);
        if (stopped_) return 0;
        if (score >= beta) return std::min(score, kMateBound - 1);
      }
    }
    return search_moves(board, checks, node, hit, improving);
  }

  /// The score at `depth`, against beta, if the mover passes.
  int null_move_search(const Board& board, const Node& node, int depth) {
    Board next = board;
    next.en_passant = 0;
    next.black_to_move = !board.black_to_move;
    next.castling = flip(board.castling);
    ++next.halfmoves;
    next.turn();
    enter(next, node.ply, 0, kNoStep);
    const int score =
        -search(next, {-node.beta, -node.beta + 1, depth, node.ply + 1, !node.cut_node, false});
    leave();
    return score;
  }

  int search_moves(const Board& board, const CheckInfo& checks, Node node, const TableHit& hit,
                   bool improving) {
    auto& alpha = node.alpha;
    const int beta = node.beta, depth = node.depth, ply = node.ply;
    Ply& here = stack_[ply];
    const bool in_check = checks.checkers != 0, pv_node = beta - alpha > 1;
    const bool black = board.black_to_move;
    const std::uint16_t previous = ply > 0 ? stack_[ply - 1].move : 0;
    const std::uint16_t countermove = previous ? history_.countermove(black, previous) : 0;
    const History::Context context{black, step_before(ply, 1), step_before(ply, 2)};
    MovePicker picker(board, checks, history_, {hit.move, here.killers, countermove, context},
                      false);
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
      const int history = quiet ? history_.value(context, packed, step) : 0;
      if (ply > 0 && best > -kMateBound && !in_check) {
        if (quiet && depth <= 6 && !pv_node) {
          // Late-move pruning, futility pruning, history pruning, and static exchange evaluation.
          const int most = (3 + depth * depth) / (improving ? 1 : 2);
          const bool late = static_cast<int>(num_quiets) >= most;
          const bool futile = here.evaluation + 150 + 130 * depth <= alpha;
          const bool poor_history = depth <= 4 && history < -5'000 * depth;
          if (late || futile || poor_history) continue;
          if (!exchange_reaches(board, move, -60 * depth)) continue;
        }
        if (!quiet && depth <= 6 && picker.is_losing() &&
            !exchange_reaches(board, move, -200 * depth)) {
          continue;
        }
      }
      ++tried;
      int extension = 0;
      if (packed == hit.move && !excluded && singular_candidate(hit, depth, ply)) {
        const int singular_beta = hit.score - 4 * depth;
        const int score = singular_search(board, node, packed, singular_beta);
        if (stopped_) return 0;
        // Multi-cut: a second move also fails high.
        if (score >= singular_beta && singular_beta >= beta) return singular_beta;
        // Singular extension, or negative extension where the table expects a fail-high.
        extension = score < singular_beta ? 1 : hit.score >= beta ? -1 : 0;
      }
      Board next = board;
      next.play(move);
      enter(next, ply, packed, step);
      const int reduction = depth >= 3 && quiet && tried > (pv_node ? 4 : 2)
                                ? late_move_reduction(node, packed, tried, pv_node, history)
                                : 0;
      const int score = search_child(next, node, depth - 1 + extension, tried == 1, reduction);
      leave();
      if (stopped_) return 0;
      if (score > best) {
        best = score;
        if (score > alpha) {
          best_move = packed;
          alpha = score;
          if (pv_node) extend_line(ply, move);
          if (ply == 0) {
            root_score_ = score;
            root_line_.assign(here.line.begin(), here.line.begin() + here.num_line);
          }
        }
      }
      if (alpha >= beta) {
        if (quiet) update_history(board, node, packed, context, {quiets.data(), num_quiets});
        break;
      }
      if (quiet && num_quiets < quiets.size()) quiets[num_quiets++] = packed;
    }
    if (tried == 0 && excluded) return alpha;
    if (tried == 0) return in_check ? -kMateScore + ply : 0;
    const Bound bound = bound_of(best, old_alpha, beta);
    // A bound corrects the evaluation only if it lies on the side the bound excludes.
    const bool informative =
        bound == Bound::kExact || (bound == Bound::kLower) == (best > here.evaluation);
    const bool best_is_quiet = !best_move || !is_noisy(board, unpack_move(best_move));
    if (!in_check && !excluded && informative && best_is_quiet && std::abs(best) < kMateBound) {
      correction_.learn(board, best - here.raw_evaluation, depth);
    }
    // A result over some of the moves must not be stored as the result of the position.
    if (!excluded && (ply > 0 || all_root_moves_)) {
      table_.store(keys_.back(), {best_move, best, here.raw_evaluation, depth, bound}, ply);
    }
    return best;
  }

  /// Whether to test the table's move for a singular extension.
  bool singular_candidate(const TableHit& hit, int depth, int ply) const {
    return ply > 0 && ply < 2 * root_depth_ && depth >= 7 && hit.depth >= depth - 3 &&
           (hit.bound == Bound::kLower || hit.bound == Bound::kExact) &&
           std::abs(hit.score) < kMateBound;
  }

  /// Searches all moves but `move` at half the depth, with a zero window below `singular_beta`: if
  /// they fail low, `move` is singular and is extended by one ply.
  int singular_search(const Board& board, const Node& node, std::uint16_t move, int singular_beta) {
    stack_[node.ply].excluded = move;
    const int score = search(board, {singular_beta - 1, singular_beta, (node.depth - 1) / 2,
                                     node.ply, node.cut_node, false});
    stack_[node.ply].excluded = 0;
    return score;
  }

  int step_before(int ply, int moves) const {
    return ply >= moves ? stack_[ply - moves].step : kNoStep;
  }

  /// Late-move reduction of a quiet move, in plies; `tried` counts the moves up to this one.
  int late_move_reduction(const Node& node, std::uint16_t move, int tried, bool pv_node,
                          int history) const {
    const auto& killers = stack_[node.ply].killers;
    int reduction = reductions_[std::min(node.depth, 63)][std::min(tried, 63)];
    reduction -= pv_node;
    reduction += node.cut_node;
    reduction -= move == killers[0] || move == killers[1];
    reduction -= history / 10'000;
    return std::clamp(reduction, 0, node.depth - 2);
  }

  /// Principal variation search: zero windows for all moves but the first, late moves at reduced
  /// depth; a move that fails high is searched again at full depth, then with the full window.
  int search_child(const Board& next, const Node& node, int depth, bool first, int reduction) {
    const int alpha = node.alpha, beta = node.beta, ply = node.ply + 1;
    const bool child_cut = !node.cut_node;
    if (first) return -search(next, {-beta, -alpha, depth, ply, beta - alpha == 1 && child_cut});
    int score =
        -search(next, {-alpha - 1, -alpha, depth - reduction, ply, reduction > 0 || child_cut});
    if (score > alpha && reduction > 0) {
      score = -search(next, {-alpha - 1, -alpha, depth, ply, child_cut});
    }
    if (score > alpha && score < beta) score = -search(next, {-beta, -alpha, depth, ply});
    return score;
  }

  /// After a quiet move caused a cutoff: killers, countermove, a history bonus for it and a malus
  /// for the quiet moves tried before it.
  void update_history(const Board& board, const Node& node, std::uint16_t move,
                      const History::Context& context, std::span<const std::uint16_t> failed) {
    Ply& here = stack_[node.ply];
    if (here.killers[0] != move) here.killers = {move, here.killers[0]};
    const std::uint16_t previous = node.ply > 0 ? stack_[node.ply - 1].move : 0;
    if (previous) history_.set_countermove(context.black, previous, move);
    const int bonus = std::min(16 * node.depth * node.depth + 32 * node.depth, 1'600);
    history_.add(context, move, pack_step(board, move), bonus);
    for (const std::uint16_t other : failed) {
      history_.add(context, other, pack_step(board, other), -bonus);
    }
  }

  /// Quiescence search: captures and queen promotions only, or all moves in check.
  int quiescence_search(const Board& board, const CheckInfo& checks, int alpha, int beta, int ply) {
    if (must_stop()) return 0;
    ++nodes_;
    selective_depth_ = std::max(selective_depth_, ply);
    if (ply >= kMaxPly - 2) return evaluate();
    const bool in_check = checks.checkers != 0;
    const std::uint64_t key = keys_.back();
    const auto* found = table_.find(key);
    if (found && beta - alpha == 1) {
      const int score = found->score_at(ply);
      if (is_cutoff(found->bound(), score, alpha, beta)) return score;
    }
    int best = -kMateScore + ply, raw = kNoEvaluation, evaluation = kNoEvaluation;
    if (!in_check) {
      raw = raw_evaluation(found);
      best = evaluation = corrected(board, raw);  // Stand pat.
      if (best >= beta) {
        if (!found) table_.store(key, {0, best, raw, 0, Bound::kLower}, ply);
        return best;
      }
    }
    const int old_alpha = alpha;
    alpha = std::max(alpha, best);
    const History::Context context{board.black_to_move, step_before(ply, 1), step_before(ply, 2)};
    const std::uint16_t table_move = found ? found->move : std::uint16_t{0};
    MovePicker picker(board, checks, history_, {table_move, {}, 0, context}, !in_check);
    std::uint16_t best_move = 0;
    while (const std::uint16_t packed = picker.next()) {
      const Move move = unpack_move(packed);
      // Delta pruning (futility): even the captured piece does not raise alpha.
      if (!in_check && move.promotion == Promotion::kNone &&
          evaluation + captured_value(board, move) + 250 <= alpha) {
        continue;
      }
      Board next = board;
      next.play(move);
      enter(next, ply, packed, pack_step(board, packed));
      const int score =
          is_dead(next) ? 0 : -quiescence_search(next, find_checks(next), -beta, -alpha, ply + 1);
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
    table_.store(key, {best_move, best, raw, 0, bound_of(best, old_alpha, beta)}, ply);
    return best;
  }

  /// Whether a bound from the transposition table decides the window.
  static bool is_cutoff(Bound bound, int score, int alpha, int beta) {
    return bound == Bound::kExact || (bound == Bound::kLower && score >= beta) ||
           (bound == Bound::kUpper && score <= alpha);
  }
  static Bound bound_of(int score, int alpha, int beta) {
    return score >= beta ? Bound::kLower : score > alpha ? Bound::kExact : Bound::kUpper;
  }
  static bool has_piece(const Board& board) {
    return (board.ours & ~board.pawns & ~board.kings) != 0;
  }
  static bool is_mate(const Board& board) {
    const CheckInfo checks = find_checks(board);
    return checks.checkers && !has_legal_move(board, checks);
  }

  void extend_line(int ply, Move move) {
    Ply& here = stack_[ply];
    const Ply& below = stack_[ply + 1];
    here.line[0] = move;
    const int length = std::min(below.num_line, kMaxPly - 1);
    std::copy_n(below.line.begin(), length, here.line.begin() + 1);
    here.num_line = length + 1;
  }

  AccumulatorStack accumulators_;
  TranspositionTable& table_;
  History history_;
  CorrectionHistory correction_;
  Clock clock_;
  const std::atomic<bool>* stop_ = nullptr;
  bool stopped_ = false;
  std::uint64_t nodes_ = 0;
  int root_depth_ = 0;
  int selective_depth_ = 0;
  std::vector<std::uint16_t> root_moves_;  ///< Still to choose from in this iteration.
  bool all_root_moves_ = true;
  int root_score_ = 0;           ///< Score of the best root move of this iteration.
  std::vector<Move> root_line_;  ///< Its principal variation; empty before the first best move.
  std::vector<std::uint64_t> keys_;
  std::array<Ply, kMaxPly + 2> stack_;
  std::array<std::array<std::int8_t, 64>, 64> reductions_{};
};

}  // namespace zerogames::chess::nnue
