#pragma once

// Leaves that wait for the net, in batches that are applied in the order of their collection.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "zerogames/game.hpp"
#include "zerogames/tree.hpp"

namespace zerogames {

/// A simulation that waits for the net. While it does, it counts as a virtual loss in every node of
/// its path.
struct WaitingLeaf {
  std::vector<NodeId> path;
  std::vector<Action> legal;
  std::uint64_t key = 0;
};

class LeafBatches {
 public:
  /// Leaves that are evaluated together, and simulations that met one of them or of another batch
  /// (collisions). The vectors keep their memory; the first ones count.
  struct Batch {
    std::vector<WaitingLeaf> leaves, collisions;
    std::size_t num_leaves = 0, num_collisions = 0;
  };

  bool empty() const { return num_batches_ == 0; }
  bool any_leaf() const { return num_batches_ > 0 && batches_[0].num_leaves > 0; }
  std::size_t size() const { return num_batches_; }
  Batch& operator[](std::size_t number) { return batches_[number]; }
  const Batch& oldest() const { return batches_[0]; }

  void open() {
    if (num_batches_ == batches_.size()) batches_.emplace_back();
    ++num_batches_;
  }
  void close(std::size_t number, Tree& tree) {
    Batch& batch = batches_[number];
    for (std::size_t i = 0; i < batch.num_collisions; ++i) {
      remove_virtual_loss(tree, batch.collisions[i]);
    }
    batch.num_leaves = batch.num_collisions = 0;
    const auto here = batches_.begin() + static_cast<std::ptrdiff_t>(number);
    std::rotate(here, here + 1, batches_.begin() + static_cast<std::ptrdiff_t>(num_batches_));
    --num_batches_;
  }

  /// The next leaf of the newest batch, with `path`, whose memory is exchanged.
  WaitingLeaf& add_leaf(Tree& tree, std::vector<NodeId>& path) {
    Batch& batch = newest();
    if (batch.num_leaves == batch.leaves.size()) batch.leaves.emplace_back();
    return add_virtual_loss(tree, batch.leaves[batch.num_leaves++], path);
  }
  void add_collision(Tree& tree, std::vector<NodeId>& path) {
    Batch& batch = newest();
    if (batch.num_collisions == batch.collisions.size()) batch.collisions.emplace_back();
    add_virtual_loss(tree, batch.collisions[batch.num_collisions++], path);
  }

  static void remove_virtual_loss(Tree& tree, const WaitingLeaf& leaf) {
    for (const NodeId id : leaf.path) --tree[id].in_flight;
  }

 private:
  /// The newest batch is the one that grows.
  Batch& newest() {
    if (num_batches_ == 0) open();
    return batches_[num_batches_ - 1];
  }
  static WaitingLeaf& add_virtual_loss(Tree& tree, WaitingLeaf& leaf, std::vector<NodeId>& path) {
    for (const NodeId id : path) ++tree[id].in_flight;
    leaf.path.swap(path);
    return leaf;
  }

  std::vector<Batch> batches_;  ///< oldest first; the first `num_batches_` are under way
  std::size_t num_batches_ = 0;
};

}  // namespace zerogames
