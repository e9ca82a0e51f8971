#pragma once

// The search tree: nodes, their edges (one per legal action, prior only) and their children
// (created when first visited), each in an arena of chunks that a new search uses again.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "zerogames/error.hpp"
#include "zerogames/game.hpp"

namespace zerogames {

using NodeId = std::uint32_t;

/// Elements of T by 32-bit index, in chunks that never move. Blocks do not cross a chunk.
template <class T, int kChunkBits>
class Arena {
 public:
  static constexpr std::uint32_t kChunkSize = std::uint32_t{1} << kChunkBits;
  static constexpr std::uint32_t kMaxSize =
      std::numeric_limits<std::uint32_t>::max() - 2 * kChunkSize;

  T& operator[](std::uint32_t index) {
    return chunks_[index >> kChunkBits][index & (kChunkSize - 1)];
  }
  const T& operator[](std::uint32_t index) const {
    return chunks_[index >> kChunkBits][index & (kChunkSize - 1)];
  }

  /// Uninitialised room for `count` <= kChunkSize neighbours.
  std::uint32_t allocate(std::uint32_t count) {
    if (size_ > kMaxSize) throw Error("the search tree is full; lower max_nodes or simulations");
    if ((size_ & (kChunkSize - 1)) + count > kChunkSize) {
      size_ = (size_ + kChunkSize - 1) & ~(kChunkSize - 1);
    }
    const std::uint32_t first = size_;
    size_ += count;
    if (size_ > chunks_.size() * kChunkSize) {
      chunks_.push_back(std::make_unique_for_overwrite<T[]>(kChunkSize));
    }
    return first;
  }

  std::uint32_t size() const { return size_; }
  void clear() { size_ = 0; }
  /// Gives back chunks beyond `keep` that are not in use.
  void trim(std::size_t keep) {
    const std::size_t used = (size_ + kChunkSize - 1) >> kChunkBits;
    if (chunks_.size() > std::max(keep, used)) chunks_.resize(std::max(keep, used));
  }
  std::size_t bytes() const { return chunks_.size() * kChunkSize * sizeof(T); }

 private:
  std::vector<std::unique_ptr<T[]>> chunks_;
  std::uint32_t size_ = 0;
};

/// One visited position. All values are the view of the player to move in it.
struct Node {
  double value = 0;            ///< mean of all evaluations below; exact once proven
  std::uint32_t visits = 0;    ///< evaluations below, its own included
  std::uint32_t edges = 0;     ///< first edge
  std::uint32_t children = 0;  ///< first entry of the child list
  std::uint16_t num_edges = 0;
  std::uint16_t num_children = 0;
  float prior = 0;  ///< the parent's policy for the action that leads here
  std::uint16_t action = 0;
  std::int8_t low = -1;  ///< proven bounds of the value: low <= value <= high
  std::int8_t high = 1;
  float square = 0;      ///< mean of squared evaluations
  float draw = 0;        ///< mean probability of a draw
  float moves_left = 0;  ///< mean of the turns to the end
  float net_value = 0;   ///< the net's own evaluation of this position
  float net_draw = 0;
  float net_moves_left = 0;
  std::uint16_t in_flight = 0;  ///< simulations through here that wait for the net
  std::uint8_t child_capacity_log2 = 0;
  bool expanded = false;
  std::uint16_t cycle = 0;  ///< a draw by repetition: plies since the first occurrence
  std::uint8_t side = 0;    ///< player to move; after the end, the one who did not move last
  bool acts_again = false;  ///< the same player moves in some of its children

  bool proven() const { return low == high; }
  bool terminal() const { return proven() && num_edges == 0; }
};
static_assert(sizeof(Node) == 64, "one node is one cache line");

// A side may act several times in a row, so that what is good in a child need not be bad in its
// parent. These give numbers of a child in the view of the player to move in its parent.

inline double value_for(const Node& parent, const Node& child) {
  return child.side == parent.side ? child.value : -child.value;
}

struct Bounds {
  std::int8_t low = -1;
  std::int8_t high = 1;
};

inline Bounds bounds_for(const Node& parent, const Node& child) {
  if (child.side == parent.side) return {child.low, child.high};
  return {static_cast<std::int8_t>(-child.high), static_cast<std::int8_t>(-child.low)};
}

/// Turns from the parent to the end: a turn is all that a side does before the other one acts.
inline float moves_left_for(const Node& parent, const Node& child) {
  return child.moves_left + static_cast<float>(child.side != parent.side);
}

/// The edges of a node are its legal actions. Edge i < num_children leads to child i; edge
/// num_children is the unvisited one with the highest prior (the lowest action among equals), and
/// the rest stay in ascending order of actions: selection needs to look at no other.
class Tree {
 public:
  Tree() { clear(); }

  NodeId root() const { return root_; }
  Node& operator[](NodeId id) { return nodes_[id]; }
  const Node& operator[](NodeId id) const { return nodes_[id]; }
  /// Nodes in use.
  std::uint32_t size() const { return nodes_.size(); }
  std::size_t bytes() const {
    return nodes_.bytes() + priors_.bytes() + actions_.bytes() + child_lists_.bytes();
  }

  /// Drops everything but a new unexpanded root.
  void reset() {
    clear();
    root_ = new_node();
  }

  std::span<float> priors(const Node& node) { return {&priors_[node.edges], node.num_edges}; }
  std::span<const float> priors(const Node& node) const {
    return {&priors_[node.edges], node.num_edges};
  }
  std::span<const std::uint16_t> actions(const Node& node) const {
    return {&actions_[node.edges], node.num_edges};
  }
  std::span<const NodeId> children(const Node& node) const {
    if (node.num_children == 0) return {};
    return {&child_lists_[node.children], node.num_children};
  }

  /// Gives a node its legal actions; the caller fills `priors(node)` and calls `order_edges`.
  void expand(Node& node, std::span<const Action> legal) {
    const auto count = static_cast<std::uint32_t>(legal.size());
    node.num_edges = static_cast<std::uint16_t>(count);
    node.edges = priors_.allocate(count);
    actions_.allocate(count);
    std::uint16_t* actions = &actions_[node.edges];
    for (std::uint32_t i = 0; i < count; ++i) actions[i] = static_cast<std::uint16_t>(legal[i]);
    node.expanded = true;
  }

  /// Brings the best unvisited edge to the front of the unvisited ones.
  void order_edges(Node& node) {
    const std::uint32_t first = node.num_children, count = node.num_edges;
    if (first + 1 >= count) return;
    const float* priors = &priors_[node.edges];
    // Floats that are not negative sort like their bits, and integers vectorise.
    std::uint32_t best = 0;
    for (std::uint32_t i = first; i < count; ++i) {
      best = std::max(best, std::bit_cast<std::uint32_t>(priors[i]));
    }
    std::uint32_t index = first;
    while (std::bit_cast<std::uint32_t>(priors[index]) != best) ++index;
    promote(node, index);
  }

  /// Moves unvisited edge `index` to the front of the unvisited ones, the others stay in order.
  void promote(Node& node, std::uint32_t index) {
    const std::uint32_t first = node.num_children;
    if (index == first) return;
    float* priors = &priors_[node.edges];
    std::uint16_t* actions = &actions_[node.edges];
    std::rotate(priors + first, priors + index, priors + index + 1);
    std::rotate(actions + first, actions + index, actions + index + 1);
  }

  /// Undoes all promotions of unvisited edges, e.g. before priors change.
  void sort_unvisited(Node& node) {
    std::vector<std::pair<std::uint16_t, float>> rest;
    for (std::uint32_t i = node.num_children; i < node.num_edges; ++i) {
      rest.emplace_back(actions_[node.edges + i], priors_[node.edges + i]);
    }
    std::ranges::sort(rest);
    for (std::uint32_t i = 0; i < rest.size(); ++i) {
      actions_[node.edges + node.num_children + i] = rest[i].first;
      priors_[node.edges + node.num_children + i] = rest[i].second;
    }
  }

  /// Creates the child of edge `num_children`. References to nodes stay valid.
  NodeId add_child(Node& parent) {
    const std::uint32_t index = parent.num_children;
    const NodeId id = new_node();
    Node& child = nodes_[id];
    child.prior = priors_[parent.edges + index];
    child.action = actions_[parent.edges + index];
    append_child(parent, id);
    order_edges(parent);
    return id;
  }

  /// Makes a child of the root the new root and drops the rest. Nodes get new ids.
  void advance(std::uint32_t child_index, Tree& scratch) {
    scratch.clear();
    const NodeId child = children(nodes_[root_])[child_index];
    scratch.root_ = scratch.copy_below(*this, child);
    std::swap(*this, scratch);
    scratch.clear();
    scratch.trim();
  }

 private:
  static constexpr int kNodeChunkBits = 12, kEdgeChunkBits = 16;

  void clear() {
    nodes_.clear();
    priors_.clear();
    actions_.clear();
    child_lists_.clear();
    for (std::uint32_t& head : free_lists_) head = kNoBlock;
  }
  void trim() {
    nodes_.trim(16);
    priors_.trim(16);
    actions_.trim(16);
    child_lists_.trim(4);
  }

  NodeId new_node() {
    const NodeId id = nodes_.allocate(1);
    nodes_[id] = Node();
    return id;
  }

  /// A block of 2^log2 child ids: freed ones first, which are linked through their first entry.
  std::uint32_t allocate_list(int log2) {
    std::uint32_t& head = free_lists_[log2];
    if (head == kNoBlock) return child_lists_.allocate(std::uint32_t{1} << log2);
    return std::exchange(head, child_lists_[head]);
  }

  void append_child(Node& parent, NodeId child) {
    const std::uint32_t count = parent.num_children;
    if (count == 0) {
      parent.child_capacity_log2 = 0;
      parent.children = allocate_list(0);
    } else if (count == std::uint32_t{1} << parent.child_capacity_log2) {
      const int log2 = parent.child_capacity_log2;
      const std::uint32_t larger = allocate_list(log2 + 1);
      std::memcpy(&child_lists_[larger], &child_lists_[parent.children], count * sizeof(NodeId));
      child_lists_[parent.children] = std::exchange(free_lists_[log2], parent.children);
      parent.children = larger;
      parent.child_capacity_log2 = static_cast<std::uint8_t>(log2 + 1);
    }
    child_lists_[parent.children + count] = child;
    ++parent.num_children;
  }

  NodeId copy_below(const Tree& from, NodeId top) {
    std::vector<std::pair<NodeId, NodeId>> open;  // (old, new)
    const NodeId new_top = copy_node(from, top);
    open.emplace_back(top, new_top);
    while (!open.empty()) {
      const auto [old_id, new_id] = open.back();
      open.pop_back();
      for (const NodeId old_child : from.children(from[old_id])) {
        const NodeId new_child = copy_node(from, old_child);
        append_child(nodes_[new_id], new_child);
        open.emplace_back(old_child, new_child);
      }
    }
    return new_top;
  }

  NodeId copy_node(const Tree& from, NodeId old_id) {
    const Node& old = from[old_id];
    const NodeId id = new_node();
    Node& node = nodes_[id];
    node = old;
    node.num_children = 0;
    if (old.num_edges > 0) {
      node.edges = priors_.allocate(old.num_edges);
      actions_.allocate(old.num_edges);
      std::ranges::copy(from.priors(old), &priors_[node.edges]);
      std::ranges::copy(from.actions(old), &actions_[node.edges]);
    }
    return id;
  }

  static constexpr std::uint32_t kNoBlock = std::numeric_limits<std::uint32_t>::max();

  Arena<Node, kNodeChunkBits> nodes_;
  Arena<float, kEdgeChunkBits> priors_;
  Arena<std::uint16_t, kEdgeChunkBits> actions_;
  Arena<NodeId, kEdgeChunkBits> child_lists_;
  std::uint32_t free_lists_[kEdgeChunkBits + 1];
  NodeId root_ = 0;
};

}  // namespace zerogames
