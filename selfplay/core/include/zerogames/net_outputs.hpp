#pragma once

#include <cmath>
#include <span>
#include <string>

#include "zerogames/error.hpp"
#include "zerogames/evaluation_cache.hpp"
#include "zerogames/game.hpp"

namespace zerogames {

/// What the net said about a batch of positions, each in its player to move's view.
struct NetOutputs {
  const float* logits = nullptr;      ///< [rows][num_actions]
  const float* wdl = nullptr;         ///< [rows][3]: win, draw, loss
  const float* moves_left = nullptr;  ///< [rows], or null if the net has no such output
  std::size_t num_actions = 0;

  const float* logits_of(std::size_t row) const { return logits + row * num_actions; }
  Evaluation evaluation(std::size_t row) const {
    const float* p = wdl + 3 * row;
    return {p[0] - p[2], p[1], moves_left ? moves_left[row] : 0.0F};
  }

  /// Throws Error if a number of `row` that will be used is not finite.
  void require_finite(std::size_t row, std::span<const Action> legal) const {
    const Evaluation e = evaluation(row);
    bool finite = std::isfinite(e.value) && std::isfinite(e.draw) && std::isfinite(e.moves_left);
    for (const Action action : legal) finite = finite && std::isfinite(logits_of(row)[action]);
    if (!finite) {
      throw Error("the net gave a number that is not finite in row " + std::to_string(row));
    }
  }
};

}  // namespace zerogames
