// The search on Connect Four and Othello under the sanitizers: all algorithms, batches, reuse,
// pools; and the invariants of the tree.

#include "connect_four.hpp"
#include "othello.hpp"
#include "zerogames/game_test.hpp"
#include "zerogames/pool.hpp"

using namespace zerogames;

namespace {

/// Says something about every position that depends on nothing but its key.
template <Game G>
struct KeyNet {
  std::vector<float> logits;
  Evaluation evaluation;
  explicit KeyNet(const G& state) : logits(state.action_size()) {
    Random random(state.observation_key());
    for (float& logit : logits) logit = static_cast<float>(4 * random.uniform() - 2);
    evaluation = {static_cast<float>(1.6 * random.uniform() - 0.8), 0.1F, 5};
  }
};

void check_tree(const Tree& tree, NodeId id, bool is_root) {
  const Node& node = tree[id];
  if (node.num_edges == 0) return;
  std::uint32_t below = 0;
  for (const NodeId child : tree.children(node)) {
    below += tree[child].visits;
    check_tree(tree, child, false);
  }
  check(node.in_flight == 0, "nothing waits");
  if (is_root || !node.proven()) check(node.visits == 1 + below, "visits add up");
}

template <Game G>
void run(Search<G>& search, std::size_t batch) {
  while (!search.done()) {
    std::vector<KeyNet<G>> answers;
    search.collect(batch, [&](const G& leaf, std::size_t) { answers.emplace_back(leaf); });
    for (std::size_t row = 0; row < answers.size(); ++row) {
      search.apply(row, answers[row].logits.data(), answers[row].evaluation);
    }
    search.finish_batch();
  }
  check_tree(search.tree(), search.tree().root(), true);
}

template <Game G>
void check_games(const G& start, SearchSettings settings) {
  settings.cache_mebibytes = 1;
  SearchContext context(settings);
  for (const std::size_t batch : {1, 7}) {
    Search<G> search(context, start, batch);
    while (!search.root_state().result()) {
      search.start({.simulations = settings.simulations, .explore = true});
      run(search, batch);
      search.advance(search.view().choose(1, search.random()));
    }
  }

  PoolSettings games{.parallel_games = 5, .random_plies_max = 2, .resign_value = -0.7};
  GamePool<G> pool(start, {start}, settings, games, {.seed = 3, .num_games = 12});
  std::vector<float> logits, wdl;
  while (!pool.done()) {
    logits.clear(), wdl.clear();
    pool.collect([&](const G& leaf, std::size_t) {
      const KeyNet<G> answer(leaf);
      logits.insert(logits.end(), answer.logits.begin(), answer.logits.end());
      const float value = answer.evaluation.value;
      wdl.insert(wdl.end(), {(1 + value) / 2, 0, (1 - value) / 2});
    });
    pool.apply(logits.data(), wdl.data(), nullptr);
  }
  check(pool.finished().size() == 12, "all games end");
}

}  // namespace

int main() {
  SearchSettings plain{.simulations = 60};
  SearchSettings gumbel = plain, katago = plain, engine = plain;
  gumbel.algorithm = Algorithm::kGumbel;
  katago.full_share = 0.5;
  katago.noise = Noise::kShaped;
  katago.forced_playouts = 2;
  katago.prune_policy_target = true;
  katago.lcb = true;
  katago.cpuct_stdev_scale = 0.85;
  engine.early_stop = true;
  engine.moves_left_effect = 0.03;
  engine.fpu_blend = true;
  for (const SearchSettings& settings : {plain, gumbel, katago, engine}) {
    check_games(ConnectFour(), settings);
    check_games(Othello(4), settings);
  }
  check_throws([] { SearchSettings{.simulations = 0}.validate(); });

  EvaluationCache cache(1 << 12);  // wraps many times
  for (std::uint64_t key = 1; key < 5000; ++key) {
    const std::vector<float> stored(key % 30, static_cast<float>(key));
    cache.store(mix(key), {static_cast<float>(key), 0, 0}, stored);
    std::vector<float> found(key % 30);
    Evaluation evaluation;
    check(cache.find(mix(key), evaluation, found) && found == stored &&
              evaluation.value == static_cast<float>(key),
          "what was stored last is found");
  }
  return report_checks();
}
