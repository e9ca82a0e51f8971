#pragma once

namespace zerogames {

/// A legal action of the root with what the search found about it, the root player's view.
struct RootChild {
  int action = 0;
  double prior = 0;  ///< with noise
  double visits = 0;
  double value = 0;
  double variance = 0;
  int low = -1;  ///< proven bounds, root player's view
  int high = 1;
  double moves_left = 0;  ///< turns from the root to the end
  double draw = 0;

  bool lost() const { return high == -1; }
  bool won() const { return low == 1; }
};

/// Whether `a` is better than `b`. Better first: proven win (shorter first), then visits, value,
/// prior, then proven loss (longer first); the lowest action among equals.
inline bool better_child(const RootChild& a, const RootChild& b) {
  if (a.won() != b.won()) return a.won();
  if (a.won() && a.moves_left != b.moves_left) return a.moves_left < b.moves_left;
  if (a.lost() != b.lost()) return b.lost();
  if (a.lost() && a.moves_left != b.moves_left) return a.moves_left > b.moves_left;
  if (a.visits != b.visits) return a.visits > b.visits;
  if (a.value != b.value) return a.value > b.value;
  if (a.prior != b.prior) return a.prior > b.prior;
  return a.action < b.action;
}

}  // namespace zerogames
