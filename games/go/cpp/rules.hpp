#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "geometry.hpp"
#include "zerogames/error.hpp"

namespace zerogames::go {

/// What a move must not repeat.
enum class Ko : std::uint8_t {
  kPositional,   ///< any earlier board
  kSituational,  ///< any earlier board with the same side to move
  kSimple,       ///< the board before the opponent's capture of a single stone
};

inline Ko parse_ko(std::string_view text) {
  if (text == "positional") return Ko::kPositional;
  if (text == "situational") return Ko::kSituational;
  if (text == "simple") return Ko::kSimple;
  throw Error("ko is positional, situational or simple, not '" + std::string(text) + "'");
}

/// Area scoring always; the rest is a choice.
struct Rules {
  float komi = 7.5F;
  Ko ko = Ko::kPositional;
  bool suicide = true;
  /// A pass after which dead stones may still be captured: players do not fear it.
  bool friendly_pass = false;
  /// A longer game is scored as it stands; needed at least with the simple ko.
  int max_plies = 0;

  static int default_max_plies(int size) { return 2 * size * size + 100; }
};

inline void check_size(int size) {
  if (size < kMinSize || size > kMaxSize) {
    throw Error("Go is played here on 2x2 to 25x25, not on size " + std::to_string(size));
  }
}

/// The points of the Go Text Protocol's fixed handicap.
inline std::vector<Point> fixed_handicap(int size, int stones) {
  const int most = size < 7 ? 0 : size % 2 == 0 || size == 7 ? 4 : 9;
  if (stones < 2 || stones > most) {
    throw Error("a " + std::to_string(size) + "x" + std::to_string(size) + " board has no fixed " +
                "handicap of " + std::to_string(stones) +
                (most ? " stones; it has 2 to " + std::to_string(most) : " stones"));
  }
  const int low = size >= 13 ? 3 : 2, high = size - 1 - low, middle = size / 2;
  const auto at = [size](int row, int column) { return static_cast<Point>(row * size + column); };
  std::vector<Point> points = {at(low, low), at(high, high)};
  if (stones >= 3) points.push_back(at(high, low));
  if (stones >= 4) points.push_back(at(low, high));
  if (stones >= 6) points.insert(points.end(), {at(middle, low), at(middle, high)});
  if (stones >= 8) points.insert(points.end(), {at(low, middle), at(high, middle)});
  if (stones % 2 == 1 && stones >= 5) points.push_back(at(middle, middle));
  return points;
}

}  // namespace zerogames::go
