#pragma once

// Many games in step: every game contributes one leaf to each batch, so the net is always asked
// about many positions at once and no search needs virtual losses.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "zerogames/game_log.hpp"
#include "zerogames/search.hpp"

namespace zerogames {

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
  const std::vector<G>& starts() const { return starts_; }
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
    int last_side = 0;  ///< who made the last move
    int would_resign_side = 0;
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
      slot.log.add_unsearched_move(action, SearchKind::kRandom);
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
      slot.log.add_unsearched_move(action, SearchKind::kPolicy);
      play(slot, action);
      return;
    }
    const int ply = slot.search.root_state().plies();
    const RootView view = slot.search.view();
    const Action action = view.choose(temperature_at(context_.settings, ply), slot.search.random());
    const SearchSummary found(view, action);
    num_simulations_ += static_cast<std::uint64_t>(found.visits);
    if (resign_if_hopeless(slot, found)) return;
    slot.log.add_searched_move(found, slot.full ? SearchKind::kFull : SearchKind::kFast,
                               has_moves_left_);
    play(slot, action);
  }

  void play(Slot& slot, Action action) {
    slot.last_side = slot.search.root_state().to_play();
    slot.search.advance(action);
    ++num_moves_;
    if (!end_if_over(slot)) start_search(slot, false);
  }

  /// Updates the resignation statistics; ends the game and returns true if the player resigns.
  bool resign_if_hopeless(Slot& slot, const SearchSummary& found) {
    GameLog& log = slot.log;
    const int side = slot.search.root_state().to_play();
    log.lowest_value[side] = std::min(log.lowest_value[side], static_cast<float>(found.root_value));
    const double limit = settings_.resign_value;
    const bool bad = limit > -1 && found.root_value <= limit && found.best_value <= limit;
    // A turn of several actions counts once, if all of its searches were bad.
    const bool turn_begins = slot.log.actions.empty() || slot.last_side != side;
    slot.bad_turns[side] = bad ? slot.bad_turns[side] + turn_begins : 0;
    const int ply = static_cast<int>(log.actions.size());
    if (slot.bad_turns[side] < settings_.resign_turns || ply < settings_.resign_min_plies) {
      return false;
    }
    if (log.would_resign_ply < 0) {
      log.would_resign_ply = ply;
      slot.would_resign_side = side;
    }
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
    return (value > 0) == (slot.last_side == 0) ? 1.0F : -1.0F;
  }

  void end_game(Slot& slot, float result, std::string reason) {
    GameLog& log = slot.log;
    log.result = result;
    log.reason = std::move(reason);
    if (log.never_resign && settings_.resign_value > -1) {
      ++num_never_resign_;
      if (log.would_resign_ply >= 0) {
        ++num_would_resign_;
        num_wrong_resigns_ += (slot.would_resign_side == 0 ? result : -result) > -1;
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
