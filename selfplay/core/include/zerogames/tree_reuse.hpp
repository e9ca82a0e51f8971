#pragma once

// Tree reuse: what the search of one move leaves for the search of the next.

#include "zerogames/backup.hpp"
#include "zerogames/repetition.hpp"
#include "zerogames/tree.hpp"

namespace zerogames {

/// Makes the child of `action` the root and drops the rest of the tree. Returns false and changes
/// nothing if that child was never evaluated. `two_fold_draws` as in SearchSettings.
inline bool reuse_subtree(Tree& tree, Tree& scratch, Action action, bool two_fold_draws) {
  const auto children = tree.children(tree[tree.root()]);
  std::uint32_t index = 0;
  while (index < children.size() && tree[children[index]].action != action) ++index;
  if (index == children.size() || !tree[children[index]].expanded) return false;
  tree.advance(index, scratch);
  if (two_fold_draws) forget_repetitions(tree, tree.root());
  // A root is searched and read even if it is proven: visits that ended in it drop out.
  recompute(tree, tree[tree.root()]);
  return true;
}

}  // namespace zerogames
