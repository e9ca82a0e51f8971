#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "../uci.hpp"
#include "search.hpp"

namespace zerogames::chess::nnue {

/// What a user interface drives: a position, a table and a search.
class Engine {
 public:
  struct Found {
    SearchInfo info;
    std::vector<std::string> line;  ///< UCI.
  };
  using Report = std::function<void(const Found&)>;

  static constexpr std::size_t kMaxHashMegabytes = 65'536;

  Engine(std::shared_ptr<const Network> network, std::size_t hash_megabytes)
      : network_(checked(std::move(network))),
        table_(checked(hash_megabytes)),
        search_(std::make_unique<Search>(*network_, table_)) {
    set_position(kStartFen, {}, false);
  }

  void set_hash(std::size_t megabytes) {
    const Exclusive lock(*this);
    table_.resize(checked(megabytes));
  }
  void new_game() {
    const Exclusive lock(*this);
    table_.clear();
    search_->forget();
  }
  /// Throws Error and keeps the old position if any move is not legal.
  void set_position(std::string_view fen, const std::vector<std::string>& moves, bool chess960) {
    const Exclusive lock(*this);
    Board board = parse_fen(fen, chess960);
    std::vector<std::uint64_t> past;
    for (const std::string& text : moves) {
      past.push_back(board.key());
      board.play(parse_uci(board, find_checks(board), text));
      if (board.halfmoves == 0) past.clear();
    }
    const std::scoped_lock writing(board_mutex_);
    board_ = board;
    past_ = std::move(past);
  }
  std::string fen() const { return format_fen(board()); }
  bool black_to_move() const { return board().black_to_move; }

  /// Blocks until the search ends; the line has at least one move.
  Found go(const SearchLimits& limits, const Report& report) {
    const Exclusive lock(*this);
    const Board root = board_;
    const auto told = [&](const SearchInfo& found) { report({found, to_uci(root, found.line)}); };
    const SearchInfo info =
        search_->run(root, past_, root_moves(root, limits.moves), limits, stop_, told);
    return {info, to_uci(root, info.line)};
  }
  /// May be called from any thread, also before the search has begun; `go` clears nothing, so call
  /// `allow` first.
  void stop() { stop_ = true; }
  void allow() { stop_ = false; }

  /// The network's score of the position, in the side to move's view.
  int evaluate() const {
    AccumulatorStack accumulators(*network_);
    accumulators.reset(board());
    return accumulators.evaluate();
  }
  const Counters& counters() const { return search_->counters(); }

 private:
  /// One call at a time; others wait, but not one from inside of a search's report.
  class Exclusive {
   public:
    explicit Exclusive(Engine& engine) : engine_(engine) {
      if (engine.caller_ == std::this_thread::get_id()) {
        throw Error("the engine is searching: this cannot be called by its own report");
      }
      engine.searching_.lock();
      engine.caller_ = std::this_thread::get_id();
    }
    ~Exclusive() {
      engine_.caller_ = std::thread::id();
      engine_.searching_.unlock();
    }
    Exclusive(const Exclusive&) = delete;
    Exclusive& operator=(const Exclusive&) = delete;

   private:
    Engine& engine_;
  };

  Board board() const {
    const std::scoped_lock reading(board_mutex_);
    return board_;
  }
  static std::shared_ptr<const Network> checked(std::shared_ptr<const Network> network) {
    if (!network) throw Error("an engine needs a network");
    return network;
  }
  static std::size_t checked(std::size_t megabytes) {
    if (megabytes < 1 || megabytes > kMaxHashMegabytes) {
      throw Error("hash of " + std::to_string(megabytes) + " MB: must be from 1 to " +
                  std::to_string(kMaxHashMegabytes));
    }
    return megabytes;
  }
  /// The given moves, packed, or all legal ones.
  static std::vector<std::uint16_t> root_moves(const Board& board,
                                               const std::vector<std::string>& given) {
    const CheckInfo checks = find_checks(board);
    std::vector<std::uint16_t> moves;
    for (const std::string& text : given)
      moves.push_back(pack_move(parse_uci(board, checks, text)));
    if (moves.empty()) {
      for_each_move(board, checks, [&](Move move) { moves.push_back(pack_move(move)); });
    }
    if (moves.empty()) throw Error("the position has no legal move");
    return moves;
  }
  static std::vector<std::string> to_uci(Board board, const std::vector<Move>& line) {
    std::vector<std::string> texts;
    for (const Move move : line) {
      if (!is_legal(board, find_checks(board), move)) break;
      texts.push_back(format_uci(board, move));
      board.play(move);
    }
    return texts;
  }

  std::shared_ptr<const Network> network_;
  TranspositionTable table_;
  std::unique_ptr<Search> search_;
  std::mutex searching_;
  std::atomic<std::thread::id> caller_ = {};  ///< Who holds `searching_`.
  mutable std::mutex board_mutex_;  ///< Held while `board_` is written, so that any may read it.
  std::atomic<bool> stop_ = false;
  Board board_;
  std::vector<std::uint64_t> past_;
};

}  // namespace zerogames::chess::nnue
