#pragma once

// Search of one position. The tree grows one simulation at a time; leaves that need the net wait in
// a list until the caller has evaluated the whole batch:
//
//   search.start({.simulations = 800});
//   while (!search.done()) {
//     search.collect(16, [&](const G& leaf, std::size_t row) { /* encode */ });
//     for (row ...) search.apply(row, logits, evaluation);
//     search.finish_batch();
//   }
//
// Several batches may be under way: they are applied and finished in the order of their collection,
// so that the tree does not depend on how long the net takes for each.

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "zerogames/allowed_actions.hpp"
#include "zerogames/backup.hpp"
#include "zerogames/choose_move.hpp"
#include "zerogames/early_stop.hpp"
#include "zerogames/error.hpp"
#include "zerogames/game.hpp"
#include "zerogames/gumbel.hpp"
#include "zerogames/hash.hpp"
#include "zerogames/leaf_batches.hpp"
#include "zerogames/net_outputs.hpp"
#include "zerogames/random.hpp"
#include "zerogames/repetition.hpp"
#include "zerogames/root_noise.hpp"
#include "zerogames/root_priors.hpp"
#include "zerogames/root_view.hpp"
#include "zerogames/search_context.hpp"
#include "zerogames/select_puct.hpp"
#include "zerogames/softmax.hpp"
#include "zerogames/solver.hpp"
#include "zerogames/tree.hpp"
#include "zerogames/tree_reuse.hpp"

namespace zerogames {

template <Game G>
class Search {
 public:
  enum class Step { kLeaf, kResolved, kCollision, kWait, kDone };

  Search(SearchContext& context, const G& state, std::uint64_t seed)
      : context_(&context), random_(seed), root_state_(state), state_(state) {
    set_position(state);
  }

  Random& random() { return random_; }
  const SearchSettings& settings() const { return context_->settings; }
  const G& root_state() const { return root_state_; }
  const Tree& tree() const { return tree_; }
  const Node& root() const { return tree_[tree_.root()]; }

  /// Forgets the tree.
  void set_position(const G& state) {
    if (state.action_size() > 65535) throw Error("a game may have at most 65535 actions");
    root_state_ = state;
    own_side_ = state.to_play();
    reset_tree();
  }

  /// Plays an action and keeps what the tree knows about the position after it.
  void advance(Action action) {
    require_no_batch();
    AllowedActions::require_legal(root_state_, action);
    root_state_.play(action);
    if (settings().reuse_tree &&
        reuse_subtree(tree_, scratch_tree_, action, settings().two_fold_draws)) {
      forget_root();
    } else {
      reset_tree();
    }
  }

  /// Begins a search of the present position with a new budget.
  void start(const SearchBudget& budget) {
    require_no_batch();
    budget_ = budget;
    root_policy_.explore = budget.explore;
    root_policy_.allowed.restrict(root_state_, budget.allowed);
    depth_sum_ = num_simulations_ = 0;
    max_depth_ = 0;
    if (settings().algorithm == Algorithm::kGumbel) reset_tree();  // its table counts from zero
    over_ = root_state_.result().has_value();
    target_ = static_cast<std::uint32_t>(budget.simulations);
    if (root().expanded) {
      target_ += visits_not_counted();
      prepare_root();
    }
  }

  /// No further simulation is wanted and none is under way.
  bool done() const { return !batches_.any_leaf() && budget_is_spent(); }

  /// One simulation. After kLeaf, `leaf_state()` is the position to evaluate as the last row of the
  /// newest batch; kWait means that `apply` must come next.
  Step step() {
    if (budget_is_spent()) return batches_.any_leaf() ? Step::kWait : Step::kDone;
    Node& root = tree_[tree_.root()];
    path_.clear();
    path_.push_back(tree_.root());
    if (!root.expanded) {
      if (batches_.any_leaf()) return Step::kWait;
      state_ = root_state_;
      return reach_leaf();
    }
    if (root.visits - 1 + root.in_flight >= target_) return Step::kWait;
    state_ = root_state_;
    for (NodeId id = tree_.root();;) {
      Node& node = tree_[id];
      const std::uint32_t slot = id == tree_.root() ? select_at_root() : select(node);
      const bool is_new = slot == node.num_children;
      id = is_new ? tree_.add_child(node) : tree_.children(node)[slot];
      path_.push_back(id);
      const Node& child = tree_[id];
      if (child.proven()) {
        add_evaluation(path_, {child.value, child.draw, child.moves_left});
        return Step::kResolved;
      }
      if (child.in_flight > 0 && !child.expanded) {
        batches_.add_collision(tree_, path_);
        return Step::kCollision;
      }
      state_.play(child.action);
      if (!child.expanded) return reach_leaf();
    }
  }

  /// Collects a batch of up to `max_batch` leaves, calling `on_leaf(state, row)` for each; returns
  /// how many. May return none before the search is done, and then there is no batch: simulations
  /// that need no net are bounded too, and all leaves may be in batches already.
  template <class OnLeaf>
  std::size_t collect(std::size_t max_batch, OnLeaf on_leaf) {
    require_batch_size(max_batch);
    const auto max_collisions = static_cast<std::size_t>(
        std::max(1.0, settings().collision_share * static_cast<double>(max_batch)));
    const std::size_t max_resolved = 1024 + 16 * max_batch;
    std::size_t resolved = 0;
    const std::size_t number = batches_.size();
    batches_.open();
    const LeafBatches::Batch& batch = batches_[number];
    while (batch.num_leaves < max_batch && resolved < max_resolved &&
           batch.num_collisions < max_collisions) {
      const Step step = this->step();
      if (step == Step::kLeaf) {
        on_leaf(std::as_const(state_), batch.num_leaves - 1);
      } else if (step == Step::kResolved) {
        ++resolved;
      } else if (step != Step::kCollision) {
        break;
      }
    }
    if (batch.num_leaves == 0) batches_.close(number, tree_);
    return batches_.size() > number ? batch.num_leaves : 0;
  }

  /// Of the oldest batch, which is the one to apply.
  std::size_t num_leaves() const { return batches_.empty() ? 0 : batches_.oldest().num_leaves; }
  const G& leaf_state() const { return state_; }

  /// Completes leaf `row` of the oldest batch with the net's logits of all actions.
  void apply(std::size_t row, const float* logits, Evaluation evaluation) {
    const WaitingLeaf& leaf = batches_.oldest().leaves[row];
    logits_.resize(leaf.legal.size());
    for (std::size_t i = 0; i < logits_.size(); ++i) logits_[i] = logits[leaf.legal[i]];
    if (context_->cache.enabled()) context_->cache.store(leaf.key, evaluation, logits_);
    LeafBatches::remove_virtual_loss(tree_, leaf);
    expand(leaf.path, leaf.legal, evaluation);
  }

  /// Call after all leaves of the oldest batch were applied.
  void finish_batch() {
    if (!batches_.empty()) batches_.close(0, tree_);
  }

  /// Completes all leaves of the oldest batch, or none if the net's numbers cannot be used.
  void apply_batch(const NetOutputs& net) {
    const std::size_t rows = num_leaves();
    for (std::size_t row = 0; row < rows; ++row) net.require_finite(row, legal_actions_of(row));
    for (std::size_t row = 0; row < rows; ++row) {
      apply(row, net.logits_of(row), net.evaluation(row));
    }
    finish_batch();
  }

  /// Of leaf `row` of the oldest batch.
  std::span<const Action> legal_actions_of(std::size_t row) const {
    return batches_.oldest().leaves[row].legal;
  }

  /// Runs to the end with a net that says the same about every position: all logits equal.
  void run_constant(const Evaluation& evaluation) {
    require_no_batch();
    for (;;) {
      const Step step = this->step();
      if (step == Step::kDone) return;
      if (step != Step::kLeaf) continue;
      const WaitingLeaf& leaf = batches_.oldest().leaves[0];
      logits_.assign(leaf.legal.size(), 0.0F);
      LeafBatches::remove_virtual_loss(tree_, leaf);
      expand(leaf.path, leaf.legal, evaluation);
      finish_batch();
    }
  }

  /// Uses these numbers, by action, instead of drawn Gumbel noise; none: draw again.
  void fix_gumbels(std::vector<double> noise) { root_policy_.gumbel.fix_noise(std::move(noise)); }

  /// What the search found at the root.
  RootView view() const { return {settings(), tree_, root_policy_}; }

  /// Nodes on the way from the root to a leaf since the search began, root and leaf included: the
  /// mean, and the most.
  double mean_depth() const {
    return num_simulations_ > 0
               ? static_cast<double>(depth_sum_) / static_cast<double>(num_simulations_)
               : 0;
  }
  std::size_t max_depth() const { return max_depth_; }
  /// The result is certain for the actions the search may choose from.
  bool proven() const { return settings().solver && root_is_proven(tree_, root_policy_.allowed); }

 private:
  void require_no_batch() const {
    if (!batches_.empty()) throw Error("apply the collected batch first");
  }

  void reset_tree() {
    tree_.reset();
    forget_root();
  }
  void forget_root() {
    root_policy_.raw_priors.clear();
    over_ = root_state_.result().has_value();
  }

  /// No further simulation is wanted.
  bool budget_is_spent() const {
    const Node& root = this->root();
    if (over_ || !root.expanded) return over_;
    return root.visits - 1 >= target_ || proven() ||
           tree_.size() >= static_cast<std::uint32_t>(settings().max_nodes) ||
           (settings().early_stop && budget_.may_stop_early &&
            best_move_is_settled(tree_, root_policy_.allowed, target_ - (root.visits - 1)));
  }

  /// Visits of the root's children that the budget does not pay for.
  std::uint32_t visits_not_counted() const {
    std::uint32_t visits = 0;
    for (const NodeId id : tree_.children(root())) {
      const Node& child = tree_[id];
      const bool counted = settings().count_reused && root_policy_.allowed.contains(child.action);
      if (!counted) visits += child.visits;
    }
    return visits;
  }

  std::uint32_t num_allowed() const { return root_policy_.allowed.count(root().num_edges); }

  /// The first visit of the last node of `path_`, whose position is `state_`.
  Step reach_leaf() {
    Node& node = tree_[path_.back()];
    if (const std::optional<float> result = state_.result()) {
      node.side = 1 - tree_[path_[path_.size() - 2]].side;
      return reach_end(node, node.side == 0 ? *result : -*result);
    }
    node.side = static_cast<std::uint8_t>(state_.to_play());
    if (path_.size() > 1) {
      Node& parent = tree_[path_[path_.size() - 2]];
      parent.acts_again |= node.side == parent.side;
    }
    if constexpr (RepeatingGame<G>) {
      const int depth = static_cast<int>(path_.size()) - 1;
      const int cycle =
          settings().two_fold_draws && depth >= 4 ? state_.plies_since_repetition() : 0;
      if (inside_search(cycle, depth)) {
        node.cycle = static_cast<std::uint16_t>(cycle);
        return reach_end(node, 0);
      }
    }
    state_.legal_actions(legal_);
    std::uint64_t key = 0;
    if (context_->cache.enabled()) {
      key = hash_combine(context_->net_version, state_.observation_key());
      Evaluation evaluation;
      logits_.resize(legal_.size());
      if (context_->cache.find(key, evaluation, logits_)) {
        expand(path_, legal_, evaluation);
        return Step::kResolved;
      }
    }
    WaitingLeaf& leaf = batches_.add_leaf(tree_, path_);
    leaf.legal.swap(legal_);
    leaf.key = key;
    return Step::kLeaf;
  }

  /// The game ends at the last node of `path_`, with `value` for the player to move.
  Step reach_end(Node& node, float value) {
    node.low = node.high = static_cast<std::int8_t>(value);
    node.value = value + draw_bonus(node.side) * (value == 0);
    node.draw = value == 0 ? 1.0F : 0.0F;
    add_evaluation(path_, {node.value, node.draw, 0});
    if (settings().solver) propagate_bounds(tree_, path_);
    return Step::kResolved;
  }

  double draw_bonus(int side) const {
    return side == own_side_ ? settings().draw_score : -settings().draw_score;
  }

  /// Gives the last node of `path` its edges with priors from `logits_` and its evaluation.
  void expand(std::span<const NodeId> path, std::span<const Action> legal,
              const Evaluation& evaluation) {
    Node& node = tree_[path.back()];
    tree_.expand(node, legal);
    const std::span<float> priors = tree_.priors(node);
    std::ranges::copy(logits_, priors.begin());
    softmax(priors, static_cast<float>(settings().policy_temperature));
    tree_.order_edges(node);
    node.net_value = static_cast<float>(evaluation.value + draw_bonus(node.side) * evaluation.draw);
    node.net_draw = evaluation.draw;
    node.net_moves_left = evaluation.moves_left;
    add_evaluation(path, {node.net_value, node.net_draw, node.net_moves_left});
    if (path.size() == 1) prepare_root();
  }

  void add_evaluation(std::span<const NodeId> path, LeafValue value) {
    depth_sum_ += path.size();
    ++num_simulations_;
    max_depth_ = std::max(max_depth_, path.size());
    backup(tree_, path, value);
  }

  /// Draws the Gumbel noise, or puts temperature and Dirichlet noise on the root's priors.
  void prepare_root() {
    const std::vector<RootEdge> edges = root_edges(tree_);
    if (root_policy_.raw_priors.empty()) {
      root_policy_.raw_priors = read_root_priors(tree_, edges);
    }
    std::vector<float> priors = root_policy_.raw_priors;
    if (settings().algorithm == Algorithm::kGumbel) {
      const double temperature = temperature_at(settings(), root_state_.plies());
      root_policy_.gumbel.sample_noise(
          edges, root_state_.action_size(),
          budget_.explore ? settings().gumbel_scale * temperature : 0.0, random_);
      root_policy_.gumbel.begin_halving(
          std::min<int>(settings().gumbel_considered, static_cast<int>(num_allowed())),
          budget_.simulations);
    } else if (budget_.explore) {
      apply_policy_temperature(priors, settings().root_policy_temperature);
      add_dirichlet_noise(settings(), priors, random_);
    }
    write_root_priors(tree_, edges, priors);
  }

  /// Not inlined: its code, once per simulation, would take registers from the moves in `step`.
  [[gnu::noinline]] std::uint32_t select_at_root() {
    if (settings().algorithm == Algorithm::kGumbel) {
      return root_policy_.gumbel.select(settings(), tree_, root_policy_.allowed);
    }
    return select_puct_at_root(settings(), context_->exploration, tree_, root_policy_.allowed,
                               budget_.explore);
  }

  std::uint32_t select(const Node& node) const {
    if (settings().algorithm == Algorithm::kGumbel) {
      return select_gumbel_interior(settings(), tree_, node, root_state_.action_size());
    }
    return select_puct(settings(), context_->exploration, tree_, node,
                       {settings().fpu, settings().fpu_value});
  }

  SearchContext* context_;
  Random random_;
  Tree tree_, scratch_tree_;
  G root_state_, state_;
  int own_side_ = 0;
  bool over_ = false;
  SearchBudget budget_;
  std::uint32_t target_ = 0;  ///< visits of the root's children at which the search ends

  std::vector<NodeId> path_;
  std::vector<Action> legal_;  ///< of the leaf at hand
  LeafBatches batches_;
  std::vector<float> logits_;  ///< of the legal actions of the leaf at hand

  RootPolicy root_policy_;
  std::size_t depth_sum_ = 0, num_simulations_ = 0, max_depth_ = 0;
};

}  // namespace zerogames
