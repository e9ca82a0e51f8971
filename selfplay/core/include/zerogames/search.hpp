#pragma once

// Search of one position. The tree grows one descent at a time; leaves that need the net wait in
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
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "zerogames/error.hpp"
#include "zerogames/evaluation_cache.hpp"
#include "zerogames/game.hpp"
#include "zerogames/gumbel.hpp"
#include "zerogames/hash.hpp"
#include "zerogames/net_outputs.hpp"
#include "zerogames/puct.hpp"
#include "zerogames/random.hpp"
#include "zerogames/repetition.hpp"
#include "zerogames/root_view.hpp"
#include "zerogames/search_settings.hpp"
#include "zerogames/solver.hpp"
#include "zerogames/tree.hpp"

namespace zerogames {

/// What several searches of one thread share.
struct SearchContext {
  explicit SearchContext(const SearchSettings& given)
      : settings(given), cache(static_cast<std::size_t>(given.cache_mebibytes) << 20) {
    settings.validate();
    explore.reserve(kTable);
    for (int visits = 0; visits < kTable; ++visits) {
      explore.push_back(static_cast<float>(exploration(settings, visits)));
    }
  }

  float exploration_at(std::uint32_t child_visits) const {
    return child_visits < kTable ? explore[child_visits]
                                 : static_cast<float>(exploration(settings, child_visits));
  }

  static constexpr int kTable = 2048;
  const SearchSettings settings;
  EvaluationCache cache;
  std::uint64_t net_version = 0;
  std::vector<float> explore;  ///< exploration() of small visit counts
};

inline void require_batch_size(std::size_t max_batch) {
  if (max_batch < 1 || max_batch > 16384) throw Error("max_batch must be 1 to 16384 leaves");
}

struct SearchBudget {
  int simulations = 0;
  /// Root noise, root policy temperature, forced playouts: on for moves that are learnt from.
  bool explore = true;
  /// Lets the setting `early_stop` end the search when the best move cannot change any more. Off
  /// where the other moves' values are wanted too.
  bool may_stop_early = true;
  /// Root actions to search and choose from; empty: all.
  std::vector<Action> allowed = {};
};

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
    if (action < 0 || action >= root_state_.action_size() || !root_state_.is_legal(action)) {
      throw Error("action " + std::to_string(action) + " is not legal here");
    }
    root_state_.play(action);
    const auto children = tree_.children(root());
    std::size_t index = 0;
    while (index < children.size() && tree_[children[index]].action != action) ++index;
    if (!settings().reuse_tree || index == children.size() || !tree_[children[index]].expanded) {
      reset_tree();
      return;
    }
    tree_.advance(static_cast<std::uint32_t>(index), scratch_tree_);
    forget_root();
    if (settings().two_fold_draws) forget_repetitions(tree_, tree_.root());
    // A root is searched and read even if it is proven: visits that ended in it drop out.
    recompute(tree_, tree_[tree_.root()]);
  }

  /// Begins a search of the present position with a new budget.
  void start(const SearchBudget& budget) {
    require_no_batch();
    budget_ = budget;
    restrict_root(budget.allowed);
    depth_sum_ = num_descents_ = 0;
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
  bool done() const { return !any_leaf() && enough(); }

  /// One descent. After kLeaf, `leaf_state()` is the position to evaluate as the last row of the
  /// newest batch; kWait means that only `apply` can go on.
  Step step() {
    if (enough()) return any_leaf() ? Step::kWait : Step::kDone;
    Node& root = tree_[tree_.root()];
    path_.clear();
    path_.push_back(tree_.root());
    if (!root.expanded) {
      if (any_leaf()) return Step::kWait;
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
        backup(path_, child.value, child.draw, child.moves_left);
        return Step::kResolved;
      }
      if (child.in_flight > 0 && !child.expanded) return collide();
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
    const std::size_t number = num_batches_;
    open_batch();
    const Batch& batch = batches_[number];
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
    if (batch.num_leaves == 0) close_batch(number);
    return num_batches_ > number ? batch.num_leaves : 0;
  }

  /// Of the oldest batch, which is the one to apply.
  std::size_t num_leaves() const { return num_batches_ > 0 ? batches_[0].num_leaves : 0; }
  const G& leaf_state() const { return state_; }

  /// Completes leaf `row` of the oldest batch with the net's logits of all actions.
  void apply(std::size_t row, const float* logits, Evaluation evaluation) {
    Leaf& leaf = batches_[0].leaves[row];
    logits_.resize(leaf.legal.size());
    for (std::size_t i = 0; i < logits_.size(); ++i) logits_[i] = logits[leaf.legal[i]];
    if (context_->cache.enabled()) context_->cache.store(leaf.key, evaluation, logits_);
    land(leaf);
    expand(leaf.path, leaf.legal, evaluation, leaf.side);
  }

  /// Call after all leaves of the oldest batch were applied.
  void finish_batch() {
    if (num_batches_ > 0) close_batch(0);
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
    return batches_[0].leaves[row].legal;
  }

  /// Runs to the end with a net that says the same about every position: all logits equal.
  void run_constant(const Evaluation& evaluation) {
    require_no_batch();
    for (;;) {
      const Step step = this->step();
      if (step == Step::kDone) return;
      if (step != Step::kLeaf) continue;
      Leaf& leaf = batches_[0].leaves[0];
      logits_.assign(leaf.legal.size(), 0.0F);
      land(leaf);
      expand(leaf.path, leaf.legal, evaluation, leaf.side);
      finish_batch();
    }
  }

  /// Uses these numbers, by action, instead of drawn Gumbel noise; none: draw again.
  void fix_gumbels(std::vector<double> noise) { fixed_gumbels_ = std::move(noise); }

  /// What the search found at the root.
  RootView view() const {
    return {settings(), tree_,          raw_priors_, gumbels_, root_state_.action_size(),
            allowed_,   budget_.explore};
  }

  /// Nodes on the way from the root to a leaf since the search began, root and leaf included: the
  /// mean, and the most.
  double mean_depth() const {
    return num_descents_ > 0 ? static_cast<double>(depth_sum_) / static_cast<double>(num_descents_)
                             : 0;
  }
  std::size_t max_depth() const { return max_depth_; }
  /// The result is certain for the actions the search may choose from.
  bool proven() const {
    if (!settings().solver) return false;
    if (allowed_.empty()) return root().proven();
    std::uint32_t num_proven = 0;
    for (const NodeId id : tree_.children(root())) {
      const Node& child = tree_[id];
      if (!is_allowed(child.action)) continue;
      if (child.high == -1) return true;
      num_proven += child.proven();
    }
    return num_proven == num_allowed();
  }

 private:
  /// A descent that waits for the net.
  struct Leaf {
    std::vector<NodeId> path;
    std::vector<Action> legal;
    std::uint64_t key = 0;
    int side = 0;  ///< player to move
  };

  /// Descents that are evaluated together. The vectors keep their memory; the first ones count.
  struct Batch {
    std::vector<Leaf> leaves, collisions;
    std::size_t num_leaves = 0, num_collisions = 0;
  };

  void require_no_batch() const {
    if (num_batches_ > 0) throw Error("apply the collected batch first");
  }
  void open_batch() {
    if (num_batches_ == batches_.size()) batches_.emplace_back();
    ++num_batches_;
  }
  void close_batch(std::size_t number) {
    Batch& batch = batches_[number];
    for (std::size_t i = 0; i < batch.num_collisions; ++i) land(batch.collisions[i]);
    batch.num_leaves = batch.num_collisions = 0;
    const auto here = batches_.begin() + static_cast<std::ptrdiff_t>(number);
    std::rotate(here, here + 1, batches_.begin() + static_cast<std::ptrdiff_t>(num_batches_));
    --num_batches_;
  }
  /// The newest batch, which is the one that grows.
  Batch& newest() {
    if (num_batches_ == 0) open_batch();
    return batches_[num_batches_ - 1];
  }
  bool any_leaf() const { return num_batches_ > 0 && batches_[0].num_leaves > 0; }

  void reset_tree() {
    tree_.reset();
    forget_root();
  }
  void forget_root() {
    raw_priors_.clear();
    over_ = root_state_.result().has_value();
  }

  bool enough() const {
    const Node& root = this->root();
    if (over_ || !root.expanded) return over_;
    return root.visits - 1 >= target_ || proven() ||
           tree_.size() >= static_cast<std::uint32_t>(settings().max_nodes) ||
           (settings().early_stop && budget_.may_stop_early && decided());
  }

  /// Visits of the root's children that the budget does not pay for.
  std::uint32_t visits_not_counted() const {
    std::uint32_t visits = 0;
    for (const NodeId id : tree_.children(root())) {
      const Node& child = tree_[id];
      if (!settings().count_reused || !is_allowed(child.action)) visits += child.visits;
    }
    return visits;
  }

  void restrict_root(std::span<const Action> allowed) {
    allowed_.clear();
    if (allowed.empty()) return;
    const int size = root_state_.action_size();
    allowed_.assign(static_cast<std::size_t>(size), 0);
    for (const Action action : allowed) {
      if (action < 0 || action >= size || !root_state_.is_legal(action)) {
        throw Error("action " + std::to_string(action) + " is not legal here");
      }
      allowed_[static_cast<std::size_t>(action)] = 1;
    }
  }
  bool is_allowed(Action action) const {
    return allowed_.empty() || allowed_[static_cast<std::size_t>(action)] != 0;
  }
  std::uint32_t num_allowed() const {
    if (allowed_.empty()) return root().num_edges;
    return static_cast<std::uint32_t>(std::ranges::count(allowed_, 1));
  }

  /// The first visit of the last node of `path_`, whose position is `state_`.
  Step reach_leaf() {
    Node& node = tree_[path_.back()];
    const int side = root_state_.to_play() ^ static_cast<int>((path_.size() - 1) & 1);
    if (const std::optional<float> result = state_.result()) {
      return end_with(node, side == 0 ? *result : -*result, side);
    }
    if constexpr (RepeatingGame<G>) {
      const int depth = static_cast<int>(path_.size()) - 1;
      const int cycle =
          settings().two_fold_draws && depth >= 4 ? state_.plies_since_repetition() : 0;
      if (inside_search(cycle, depth)) {
        node.cycle = static_cast<std::uint16_t>(cycle);
        return end_with(node, 0, side);
      }
    }
    state_.legal_actions(legal_);
    std::uint64_t key = 0;
    if (context_->cache.enabled()) {
      key = hash_combine(context_->net_version, state_.observation_key());
      Evaluation evaluation;
      logits_.resize(legal_.size());
      if (context_->cache.find(key, evaluation, logits_)) {
        expand(path_, legal_, evaluation, side);
        return Step::kResolved;
      }
    }
    for (const NodeId id : path_) ++tree_[id].in_flight;
    Batch& batch = newest();
    if (batch.num_leaves == batch.leaves.size()) batch.leaves.emplace_back();
    Leaf& leaf = batch.leaves[batch.num_leaves++];
    leaf.path.swap(path_);
    leaf.legal.swap(legal_);
    leaf.key = key;
    leaf.side = side;
    return Step::kLeaf;
  }

  /// The game ends at the last node of `path_`, with `value` for the player to move.
  Step end_with(Node& node, float value, int side) {
    node.low = node.high = static_cast<std::int8_t>(value);
    node.value = value + draw_bonus(side) * (value == 0);
    node.draw = value == 0 ? 1.0F : 0.0F;
    backup(path_, node.value, node.draw, 0);
    if (settings().solver) propagate_bounds(tree_, path_);
    return Step::kResolved;
  }

  Step collide() {
    Batch& batch = newest();
    if (batch.num_collisions == batch.collisions.size()) batch.collisions.emplace_back();
    Leaf& collision = batch.collisions[batch.num_collisions++];
    collision.path.swap(path_);
    for (const NodeId id : collision.path) ++tree_[id].in_flight;
    return Step::kCollision;
  }
  void land(const Leaf& leaf) {
    for (const NodeId id : leaf.path) --tree_[id].in_flight;
  }

  double draw_bonus(int side) const {
    return side == own_side_ ? settings().draw_score : -settings().draw_score;
  }

  /// Gives the last node of `path` its edges with priors from `logits_` and its evaluation.
  void expand(std::span<const NodeId> path, std::span<const Action> legal,
              const Evaluation& evaluation, int side) {
    Node& node = tree_[path.back()];
    tree_.expand(node, legal);
    const std::span<float> priors = tree_.priors(node);
    std::ranges::copy(logits_, priors.begin());
    softmax(priors, static_cast<float>(settings().policy_temperature));
    tree_.order_edges(node);
    node.net_value = static_cast<float>(evaluation.value + draw_bonus(side) * evaluation.draw);
    node.net_draw = evaluation.draw;
    node.net_moves_left = evaluation.moves_left;
    backup(path, node.net_value, node.net_draw, node.net_moves_left);
    if (path.size() == 1) prepare_root();
  }

  /// Adds one evaluation to every node of the path. What is proven stays exact.
  void backup(std::span<const NodeId> path, double value, float draw, float moves_left) {
    depth_sum_ += path.size();
    ++num_descents_;
    max_depth_ = std::max(max_depth_, path.size());
    for (std::size_t i = path.size(); i-- > 0;) {
      Node& node = tree_[path[i]];
      if (i > 0 && node.proven()) {
        value = node.value;
        draw = node.draw;
        moves_left = node.moves_left;
      }
      const double share = 1.0 / ++node.visits;
      const auto part = static_cast<float>(share);
      node.value += (value - node.value) * share;
      node.square += (static_cast<float>(value * value) - node.square) * part;
      node.draw += (draw - node.draw) * part;
      node.moves_left += (moves_left - node.moves_left) * part;
      value = -value;
      moves_left += 1;
    }
  }

  /// Puts temperature and noise on the root's priors (the raw ones are kept aside and go with the
  /// root), or draws the Gumbel noise.
  void prepare_root() {
    Node& root = tree_[tree_.root()];
    const auto actions = tree_.actions(root);
    std::vector<std::pair<std::uint16_t, std::uint32_t>> order;  // (action, edge), ascending
    tree_.sort_unvisited(root);
    for (std::uint32_t i = 0; i < root.num_edges; ++i) order.emplace_back(actions[i], i);
    std::ranges::sort(order);
    const std::span<float> priors = tree_.priors(root);
    if (raw_priors_.empty()) {
      for (const auto& [action, edge] : order) raw_priors_.push_back(priors[edge]);
    }
    std::vector<float> changed = raw_priors_;
    if (settings().algorithm == Algorithm::kGumbel) {
      gumbels_ = fixed_gumbels_;
      gumbels_.resize(root_state_.action_size(), 0.0);
      // The largest of logits with noise times t is a draw from their softmax at temperature t.
      const double scale =
          settings().gumbel_scale * temperature_at(settings(), root_state_.plies());
      if (fixed_gumbels_.empty() && budget_.explore && scale > 0) {
        for (const auto& [action, edge] : order) gumbels_[action] = scale * random_.gumbel();
      }
      halving_ = halving_table(
          std::min<int>(settings().gumbel_considered, static_cast<int>(num_allowed())),
          budget_.simulations);
    } else if (budget_.explore) {
      apply_policy_temperature(changed, settings().root_policy_temperature);
      add_noise(settings(), changed, random_);
    }
    for (std::size_t i = 0; i < order.size(); ++i) priors[order[i].second] = changed[i];
    const auto children = tree_.children(root);
    for (std::size_t i = 0; i < children.size(); ++i) tree_[children[i]].prior = priors[i];
    tree_.order_edges(root);
  }

  std::uint32_t select_at_root() {
    Node& root = tree_[tree_.root()];
    if (settings().algorithm == Algorithm::kGumbel) return gumbel_root(root);
    if (budget_.explore && settings().forced_playouts > 0) {
      const auto children = tree_.children(root);
      const double total = root.visits - 1;
      std::size_t forced = children.size();
      for (std::size_t i = 0; i < children.size(); ++i) {
        const Node& child = tree_[children[i]];
        const double wanted = std::sqrt(settings().forced_playouts * child.prior * total);
        if (child.visits > 0 && !child.proven() && is_allowed(child.action) &&
            child.visits + child.in_flight < wanted &&
            (forced == children.size() || child.action < tree_[children[forced]].action)) {
          forced = i;
        }
      }
      if (forced < children.size()) return static_cast<std::uint32_t>(forced);
    }
    if (allowed_.empty()) return select_puct(root, settings().root_fpu, settings().root_fpu_value);
    promote_allowed(root);
    return select_puct<true>(root, settings().root_fpu, settings().root_fpu_value);
  }

  /// Brings the best unvisited edge that may be chosen to the front of the unvisited ones.
  void promote_allowed(Node& root) {
    const auto actions = tree_.actions(root);
    const auto priors = tree_.priors(root);
    std::uint32_t best = root.num_edges;
    for (std::uint32_t i = root.num_children; i < root.num_edges; ++i) {
      if (!is_allowed(actions[i])) continue;
      if (best == root.num_edges || priors[i] > priors[best] ||
          (priors[i] == priors[best] && actions[i] < actions[best])) {
        best = i;
      }
    }
    if (best < root.num_edges) tree_.promote(root, best);
  }

  std::uint32_t select(const Node& node) const {
    if (settings().algorithm == Algorithm::kGumbel) {
      return gumbel_interior(settings(), tree_, node, root_state_.action_size());
    }
    return select_puct(node, settings().fpu, settings().fpu_value);
  }

  /// The index of the child with the highest score; num_children for the best unvisited edge.
  /// `kRestricted`: at the root, among the allowed actions.
  template <bool kRestricted = false>
  std::uint32_t select_puct(const Node& node, Fpu fpu, double fpu_value) const {
    const SearchSettings& settings = context_->settings;
    const auto children = tree_.children(node);
    float explore = context_->exploration_at(node.visits - 1);
    if (settings.cpuct_stdev_scale > 0) {
      explore *= static_cast<float>(
          stdev_factor(settings.cpuct_stdev_scale, node.value, node.square, node.visits));
    }
    const bool prefer_length =
        settings.moves_left_effect > 0 && std::abs(node.value) > settings.moves_left_threshold;
    const auto virtual_loss = static_cast<float>(settings.virtual_loss);

    std::uint32_t best = 0;
    float best_score = -std::numeric_limits<float>::infinity();
    int best_action = std::numeric_limits<int>::max();
    const auto consider = [&](std::uint32_t index, int action, float score) {
      if (score > best_score || (score == best_score && action < best_action)) {
        best = index;
        best_score = score;
        best_action = action;
      }
    };

    float visited_prior = 0;
    bool any_waiting = false;
    for (std::uint32_t i = 0; i < children.size(); ++i) {
      const Node& child = tree_[children[i]];
      if constexpr (kRestricted) {
        if (!is_allowed(child.action)) continue;
      }
      if (child.visits == 0) {
        any_waiting = true;
        continue;
      }
      visited_prior += child.prior;
      auto q = static_cast<float>(-child.value);
      auto visits = static_cast<float>(child.visits);
      if (prefer_length) {
        q += static_cast<float>(moves_left_utility(settings, q, child.moves_left, node.moves_left));
      }
      if (child.in_flight > 0) {
        const float losses = virtual_loss * child.in_flight;
        q += (-1.0F - q) * losses / (losses + visits);
        visits += losses;
      }
      float score = q + explore * child.prior / (1.0F + visits);
      if (child.low == 1 && settings.solver) score -= 1000.0F;  // lost: only if all others are too
      consider(i, child.action, score);
    }

    bool any_unvisited = node.num_children < node.num_edges;
    if constexpr (kRestricted) {
      any_unvisited = any_unvisited && is_allowed(tree_.actions(node)[node.num_children]);
    }
    if (!any_unvisited && !any_waiting) return best;
    auto urgency = static_cast<float>(fpu_value);
    if (fpu == Fpu::kReduction) {
      auto parent = static_cast<float>(node.value);
      if (settings.fpu_blend) {
        const float weight = std::min(1.0F, visited_prior * visited_prior);
        parent = weight * parent + (1 - weight) * node.net_value;
      }
      urgency = parent - static_cast<float>(fpu_value) * std::sqrt(visited_prior);
    }
    for (std::uint32_t i = 0; any_waiting && i < children.size(); ++i) {
      const Node& child = tree_[children[i]];
      if (child.visits > 0) continue;
      if constexpr (kRestricted) {
        if (!is_allowed(child.action)) continue;
      }
      const float losses = virtual_loss * child.in_flight;
      const float q = urgency + (-1.0F - urgency) * losses / (losses + 0.25F);
      consider(i, child.action, q + explore * child.prior / (1.0F + losses));
    }
    if (any_unvisited) {
      consider(node.num_children, tree_.actions(node)[node.num_children],
               urgency + explore * tree_.priors(node)[node.num_children]);
    }
    return best;
  }

  /// Sequential halving: among the actions with the visits that this step asks for, the best by
  /// noise, logit and completed value.
  std::uint32_t gumbel_root(Node& root) {
    const CompletedValues completed(settings(), tree_, root, root_state_.action_size());
    const std::uint32_t step = root.visits - 1 + root.in_flight;
    const std::uint32_t wanted = halving_[std::min<std::size_t>(step, halving_.size() - 1)];
    const auto children = tree_.children(root);
    const auto actions = tree_.actions(root);
    const auto priors = tree_.priors(root);
    float highest = 0;
    for (const float prior : priors) highest = std::max(highest, prior);
    std::uint32_t best = 0;
    while (!is_allowed(actions[best])) ++best;
    double best_score = -1e300;
    for (std::uint32_t i = 0; i < root.num_edges; ++i) {
      const Node* child = i < children.size() ? &tree_[children[i]] : nullptr;
      if (!is_allowed(actions[i])) continue;
      if ((child ? child->visits + child->in_flight : 0) != wanted) continue;
      const double sigma = child ? completed.sigma_of(*child) : completed.sigma(completed.mixed());
      const double score = std::max(-1e9, gumbels_[actions[i]] + RootView::log_prior(priors[i]) -
                                              RootView::log_prior(highest) + sigma);
      if (score > best_score || (score == best_score && actions[i] < actions[best])) {
        best = i;
        best_score = score;
      }
    }
    if (best < children.size()) return best;
    tree_.promote(root, best);
    return root.num_children;
  }

  /// The most visited move cannot be overtaken any more, or there is nothing to choose.
  bool decided() const {
    const Node& root = this->root();
    std::uint32_t first = 0, second = 0;
    int open = static_cast<int>(num_allowed());
    for (const NodeId id : tree_.children(root)) {
      const Node& child = tree_[id];
      if (!is_allowed(child.action)) continue;
      open -= child.low == 1;
      if (child.visits > first) {
        second = std::exchange(first, child.visits);
      } else {
        second = std::max(second, child.visits);
      }
    }
    return open <= 1 || first - second > target_ - (root.visits - 1);
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
  std::vector<Action> legal_;   ///< of the leaf at hand
  std::vector<Batch> batches_;  ///< oldest first; the first `num_batches_` are under way
  std::size_t num_batches_ = 0;
  std::vector<float> logits_;  ///< of the legal actions of the leaf at hand

  std::vector<float> raw_priors_;  ///< of the root, by ascending action; empty before it is ready
  std::vector<double> gumbels_, fixed_gumbels_;  ///< by action
  std::vector<std::uint32_t> halving_;
  std::vector<std::uint8_t> allowed_;  ///< by action; empty: all
  std::size_t depth_sum_ = 0, num_descents_ = 0, max_depth_ = 0;
};

}  // namespace zerogames
