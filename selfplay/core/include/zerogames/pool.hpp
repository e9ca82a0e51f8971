#pragma once

// Many games in step: every game contributes one leaf to each batch, so the net is always asked
// about many positions at once and no search needs virtual losses.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "zerogames/search.hpp"

namespace zerogames {

/// How a move was found; the order is that of `SEARCH_KINDS` in zerogames/data/record.py.
enum class SearchKind : std::uint8_t { kFull, kFast, kProved, kPolicy, kRandom };

/// A finished game. Per-move values are the view of the player who moved; NaN where nothing was
/// searched or the net has no such output.
struct GameLog {
  std::uint64_t index = 0, seed = 0, net_version = 0;
  int start = -1;  ///< index of the start position, -1 for the initial one
  float result = 0;
  std::string reason;
  bool never_resign = false;
  int would_resign_ply = -1;  ///< first ply at which the rule asked to resign
  float lowest_value[2] = {1, 1};

  std::vector<std::int32_t> actions, best_actions, simulations;
  std::vector<std::uint8_t> kinds;
  std::vector<float> surprise;
  struct Values {
    std::vector<float> q, d, m;
    void push(double value, double draw, double moves_left) {
      q.push_back(static_cast<float>(value));
      d.push_back(static_cast<float>(draw));
      m.push_back(static_cast<float>(moves_left));
    }
  } root, best, played, net;
  /// The searched actions of move i are entries offsets[i] to offsets[i + 1].
  std::vector<std::int32_t> offsets = {0}, searched_actions, visits;
  std::vector<float> targets;
};

template <Game G>
class GamePool {
 public:
  struct Options {
    std::uint64_t seed = 0;
    std::uint64_t first_game = 0, game_step = 1;
    std::optional<std::uint64_t> num_games;
  };

  GamePool(const G& initial, std::vector<G> starts, const SearchSettings& search,
           const PoolSettings& pool, const Options& options)
      : context_(search),
        settings_(pool),
        options_(options),
        initial_(initial),
        starts_(std::move(starts)) {
    settings_.validate();
    if (initial_.result()) throw Error("the start position is already decided");
    for (const G& start : starts_) {
      if (start.result()) throw Error("a start position is already decided");
    }
    for (int i = 0; i < settings_.parallel_games; ++i) {
      slots_.push_back(std::make_unique<Slot>(context_, initial_));
    }
  }

  /// All games are played.
  bool done() const { return running_ == 0 && !more_games(); }
  std::size_t capacity() const { return slots_.size(); }
  const G& initial() const { return initial_; }
  const std::vector<GameLog>& finished() const { return finished_; }
  std::vector<GameLog> take_finished() { return std::exchange(finished_, {}); }
  SearchContext& context() { return context_; }
  PoolSettings& settings() { return settings_; }

  std::uint64_t num_simulations() const { return num_simulations_; }
  std::uint64_t num_evaluations() const { return num_evaluations_; }
  std::uint64_t num_moves() const { return num_moves_; }
  std::uint64_t num_games() const { return num_games_; }
  std::size_t tree_bytes() const {
    std::size_t bytes = 0;
    for (const auto& slot : slots_) bytes += slot->search.tree().bytes();
    return bytes;
  }

  /// Games with `never_resign` in which the rule asked to resign, and those of them that the
  /// player did not lose.
  std::uint64_t num_never_resign() const { return num_never_resign_; }
  std::uint64_t num_would_resign() const { return num_would_resign_; }
  std::uint64_t num_wrong_resigns() const { return num_wrong_resigns_; }

  /// Runs every game to its next leaf, calling `on_leaf(state, row)`; returns the rows. A game that
  /// ends contributes nothing to this batch, so that a batch always comes back.
  template <class OnLeaf>
  std::size_t collect(OnLeaf on_leaf) {
    if (!batch_.empty()) throw Error("apply the collected batch first");
    for (auto& slot : slots_) {
      if (!run_to_leaf(*slot)) continue;
      on_leaf(slot->search.leaf_state(), batch_.size());
      batch_.push_back(slot.get());
    }
    num_evaluations_ += batch_.size();
    return batch_.size();
  }

  std::size_t num_rows() const { return batch_.size(); }

  /// Evaluations of the batch's rows: logits [rows][action_size], wdl [rows][3], moves_left [rows]
  /// or null.
  void apply(const float* logits, const float* wdl, const float* moves_left) {
    has_moves_left_ = moves_left != nullptr;
    const NetOutputs net{logits, wdl, moves_left, static_cast<std::size_t>(initial_.action_size())};
    for (std::size_t row = 0; row < batch_.size(); ++row) {
      net.require_finite(row, batch_[row]->search.legal_actions_of(0));
    }
    for (std::size_t row = 0; row < batch_.size(); ++row) {
      batch_[row]->search.apply(0, net.logits_of(row), net.evaluation(row));
      batch_[row]->search.finish_batch();
    }
    batch_.clear();
  }

 private:
  struct Slot {
    Slot(SearchContext& context, const G& state) : search(context, state, 0) {}
    Search<G> search;
    Random random;
    GameLog log;
    bool running = false;
    bool full = true;  ///< of the present search
    int policy_plies = 0;
    int bad_turns[2] = {0, 0};
  };

  bool more_games() const { return !options_.num_games || next_game_ < *options_.num_games; }

  /// Returns true with a leaf in the slot's search, false when a game ended or none is left.
  bool run_to_leaf(Slot& slot) {
    if (!slot.running) {
      if (!more_games()) return false;
      begin_game(slot);
      if (!slot.running) return false;
    }
    for (;;) {
      switch (slot.search.step()) {
        case Search<G>::Step::kLeaf:
          return true;
        case Search<G>::Step::kDone:
          finish_move(slot);
          if (!slot.running) return false;
          break;
        default:
          break;
      }
    }
  }

  void begin_game(Slot& slot) {
    slot.log = GameLog();
    slot.log.index = options_.first_game + next_game_++ * options_.game_step;
    // Each game has numbers of its own: it does not matter which slot plays it, nor when.
    slot.log.seed = hash_combine(mix(options_.seed), slot.log.index);
    slot.log.net_version = context_.net_version;
    slot.random.reseed(slot.log.seed);
    slot.search.random().reseed(mix(slot.log.seed));
    slot.running = true;
    ++running_;
    slot.bad_turns[0] = slot.bad_turns[1] = 0;
    slot.log.never_resign = slot.random.uniform() < settings_.never_resign_share;
    G state = initial_;
    if (!starts_.empty()) {
      slot.log.start =
          static_cast<int>(slot.random.below(static_cast<std::uint32_t>(starts_.size())));
      state = starts_[slot.log.start];
    }
    const int random_plies = settings_.random_plies_min +
                             static_cast<int>(slot.random.below(static_cast<std::uint32_t>(
                                 settings_.random_plies_max - settings_.random_plies_min + 1)));
    slot.policy_plies = 0;
    if (settings_.policy_plies_mean > 0) {
      slot.policy_plies = static_cast<int>(
          std::min(1000.0, settings_.policy_plies_mean * slot.random.exponential()));
    }
    std::vector<Action> legal;
    for (int ply = 0; ply < random_plies && !state.result(); ++ply) {
      state.legal_actions(legal);
      const Action action = legal[slot.random.below(static_cast<std::uint32_t>(legal.size()))];
      log_unsearched(slot.log, action, SearchKind::kRandom);
      state.play(action);
    }
    slot.search.set_position(state);
    if (!end_if_over(slot)) start_search(slot, true);
  }

  /// `fresh` says that the tree is empty anyway.
  void start_search(Slot& slot, bool fresh) {
    const SearchSettings& search = context_.settings;
    if (slot.policy_plies > 0) {
      slot.search.start({.simulations = 0, .explore = false});
      return;
    }
    slot.full = search.full_share >= 1 || slot.random.uniform() < search.full_share;
    // With playout-cap randomisation a full search, which is learnt from, starts from nothing.
    if (!fresh && slot.full && search.full_share < 1) {
      slot.search.set_position(G(slot.search.root_state()));
    }
    slot.search.start({.simulations = slot.full ? search.simulations : search.fast_simulations,
                       .explore = slot.full});
  }

  void finish_move(Slot& slot) {
    if (slot.policy_plies > 0) {
      --slot.policy_plies;
      std::vector<double> weights;
      for (const float prior : slot.search.view().raw_priors()) weights.push_back(prior);
      const std::size_t chosen =
          sample_weights(weights, settings_.policy_plies_temperature, slot.random);
      const Action action = slot.search.view().children()[chosen].action;
      log_unsearched(slot.log, action, SearchKind::kPolicy);
      go_on(slot, action);
      return;
    }
    const int ply = slot.search.root_state().plies();
    const Action action =
        slot.search.view().choose(temperature_at(context_.settings, ply), slot.search.random());
    if (log_search(slot, action)) go_on(slot, action);
  }

  void go_on(Slot& slot, Action action) {
    slot.search.advance(action);
    ++num_moves_;
    if (!end_if_over(slot)) start_search(slot, false);
  }

  static void log_unsearched(GameLog& log, Action action, SearchKind kind) {
    constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
    log.actions.push_back(action);
    log.best_actions.push_back(action);
    log.simulations.push_back(0);
    log.kinds.push_back(static_cast<std::uint8_t>(kind));
    log.surprise.push_back(kNone);
    for (GameLog::Values* values : {&log.root, &log.best, &log.played, &log.net}) {
      values->push(kNone, kNone, kNone);
    }
    log.offsets.push_back(static_cast<std::int32_t>(log.visits.size()));
  }

  /// Logs the move that the search found; returns false if the player resigns instead.
  bool log_search(Slot& slot, Action action) {
    const Search<G>& search = slot.search;
    GameLog& log = slot.log;
    const RootView view = search.view();
    const auto children = view.children();
    const auto target = view.policy_target();
    const Node& root = view.root();
    const bool proven = view.proven();
    const double root_value = proven ? root.low : root.value;
    std::size_t best = 0, played = 0;
    double visits = 0;
    for (std::size_t i = 0; i < children.size(); ++i) {
      if (better_child(children[i], children[best])) best = i;
      if (children[i].action == action) played = i;
      visits += children[i].visits;
    }
    num_simulations_ += static_cast<std::uint64_t>(visits);
    const double best_value = children[best].visits > 0 ? children[best].value : root_value;
    if (wants_to_resign(slot, root_value, best_value)) return false;

    log.actions.push_back(action);
    log.best_actions.push_back(children[best].action);
    log.simulations.push_back(static_cast<std::int32_t>(visits));
    log.kinds.push_back(static_cast<std::uint8_t>(proven      ? SearchKind::kProved
                                                  : slot.full ? SearchKind::kFull
                                                              : SearchKind::kFast));
    std::vector<double> priors;
    for (const RootChild& child : children) priors.push_back(child.prior);
    log.surprise.push_back(static_cast<float>(policy_surprise(target, priors)));
    const double none = std::numeric_limits<double>::quiet_NaN();
    const bool moves_left = has_moves_left_;
    log.root.push(root_value, proven ? root.low == 0 : root.draw,
                  moves_left ? root.moves_left : none);
    log.net.push(root.net_value, root.net_draw, moves_left ? root.net_moves_left : none);
    for (const auto& [values, row] : {std::pair(&log.best, best), std::pair(&log.played, played)}) {
      const RootChild& child = children[row];
      const bool seen = child.visits > 0;
      values->push(seen ? child.value : none, seen ? child.draw : none,
                   seen && moves_left ? child.moves_left + 1 : none);
    }
    for (std::size_t i = 0; i < children.size(); ++i) {
      if (children[i].visits == 0 && target[i] < 1e-6) continue;
      log.searched_actions.push_back(children[i].action);
      log.visits.push_back(static_cast<std::int32_t>(children[i].visits));
      log.targets.push_back(static_cast<float>(target[i]));
    }
    log.offsets.push_back(static_cast<std::int32_t>(log.visits.size()));
    return true;
  }

  /// Keeps the books of resignation and ends the game if the player to move gives up.
  bool wants_to_resign(Slot& slot, double root_value, double best_value) {
    GameLog& log = slot.log;
    const int side = slot.search.root_state().to_play();
    log.lowest_value[side] = std::min(log.lowest_value[side], static_cast<float>(root_value));
    const double limit = settings_.resign_value;
    const bool bad = limit > -1 && root_value <= limit && best_value <= limit;
    slot.bad_turns[side] = bad ? slot.bad_turns[side] + 1 : 0;
    const int ply = static_cast<int>(log.actions.size());
    if (slot.bad_turns[side] < settings_.resign_turns || ply < settings_.resign_min_plies) {
      return false;
    }
    if (log.would_resign_ply < 0) log.would_resign_ply = ply;
    if (log.never_resign) return false;
    end_game(slot, side == 0 ? -1.0F : 1.0F, "resignation");
    return true;
  }

  bool end_if_over(Slot& slot) {
    const G& state = slot.search.root_state();
    if (const std::optional<float> result = state.result()) {
      end_game(slot, *result, std::string(state.end_reason()));
      return true;
    }
    if (settings_.max_plies > 0 &&
        static_cast<int>(slot.log.actions.size()) >= settings_.max_plies) {
      end_game(slot, adjudicated(slot), "ply limit");
      return true;
    }
    return false;
  }

  /// A draw, or a win for the side that the last search saw ahead by more than half a point.
  float adjudicated(const Slot& slot) const {
    if (!settings_.adjudicate_by_value || slot.log.root.q.empty()) return 0;
    const float value = slot.log.root.q.back();
    if (!(std::abs(value) > 0.5F)) return 0;
    const bool first_moved = slot.search.root_state().to_play() == 1;  // the last mover's view
    return (value > 0) == first_moved ? 1.0F : -1.0F;
  }

  void end_game(Slot& slot, float result, std::string reason) {
    GameLog& log = slot.log;
    log.result = result;
    log.reason = std::move(reason);
    if (log.never_resign && settings_.resign_value > -1) {
      ++num_never_resign_;
      if (log.would_resign_ply >= 0) {
        ++num_would_resign_;
        const int first = starts_.empty() ? initial_.to_play() : starts_[log.start].to_play();
        const int side = first ^ (log.would_resign_ply & 1);
        num_wrong_resigns_ += (side == 0 ? result : -result) > -1;
      }
    }
    ++num_games_;
    --running_;
    slot.running = false;
    finished_.push_back(std::move(log));
  }

  SearchContext context_;
  PoolSettings settings_;
  Options options_;
  G initial_;
  std::vector<G> starts_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<Slot*> batch_;
  std::vector<GameLog> finished_;
  bool has_moves_left_ = false;
  std::uint64_t next_game_ = 0;
  std::size_t running_ = 0;
  std::uint64_t num_simulations_ = 0, num_evaluations_ = 0, num_moves_ = 0, num_games_ = 0;
  std::uint64_t num_never_resign_ = 0, num_would_resign_ = 0, num_wrong_resigns_ = 0;
};

}  // namespace zerogames
