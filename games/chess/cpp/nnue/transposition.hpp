#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "kernels.hpp"

namespace zerogames::chess::nnue {

inline constexpr int kMateScore = 32'000;
inline constexpr int kMaxPly = 128;
/// Scores beyond this are mates within 2 * kMaxPly plies.
inline constexpr int kMateBound = kMateScore - 2 * kMaxPly;
/// Evaluations of the network are clamped to this.
inline constexpr int kMaxEvaluation = 10'000;
inline constexpr int kNoEvaluation = -32'768;

enum class Bound : std::uint8_t { kNone, kUpper, kLower, kExact };

/// Transposition table: results of searched positions, in buckets of four entries of one cache
/// line; the entry with the least depth and greatest age is replaced.
class TranspositionTable {
 public:
  struct Entry {
    std::uint64_t key = 0;
    std::uint16_t move = 0;
    std::int16_t score = 0;  ///< Mate scores count plies from this node.
    std::int16_t evaluation = kNoEvaluation;
    std::int8_t depth = 0;
    std::uint8_t age_and_bound = 0;

    Bound bound() const { return static_cast<Bound>(age_and_bound & 3); }
    int score_at(int ply) const {
      if (score >= kMateBound) return score - ply;
      if (score <= -kMateBound) return score + ply;
      return score;
    }
  };
  static_assert(sizeof(Entry) == 16);

  explicit TranspositionTable(std::size_t megabytes) { resize(megabytes); }

  void resize(std::size_t megabytes) {
    const std::size_t lines = std::bit_floor(std::max<std::size_t>(megabytes, 1) << 20) / 64;
    lines_ = Lines(1);  // Never empty, also when there is not enough memory.
    age_ = 0;
    lines_ = Lines(lines);
  }
  void clear() {
    std::fill(lines_.begin(), lines_.end(), Line{});
    age_ = 0;
  }
  void start_search() { age_ = (age_ + 1) & 63; }

  void prefetch(std::uint64_t key) const { __builtin_prefetch(&lines_[index(key)]); }

  /// The entry of the position, or none.
  const Entry* find(std::uint64_t key) const {
    for (const Entry& entry : lines_[index(key)]) {
      if (entry.key == key && entry.bound() != Bound::kNone) return &entry;
    }
    return nullptr;
  }

  /// What a search found out about a position.
  struct Result {
    std::uint16_t move = 0;  ///< The best move, 0 if no move raised alpha.
    int score = 0;           ///< Mate scores count plies from the root.
    int evaluation = kNoEvaluation;
    int depth = 0;
    Bound bound = Bound::kNone;
  };

  void store(std::uint64_t key, const Result& result, int ply) {
    auto [move, score, evaluation, depth, bound] = result;
    Line& line = lines_[index(key)];
    Entry* chosen = &line[0];
    for (Entry& entry : line) {
      if (entry.key == key) {
        chosen = &entry;
        break;
      }
      if (worth(entry) < worth(*chosen)) chosen = &entry;
    }
    const bool same = chosen->key == key;
    // A shallower search does not replace a deeper one of the same position, unless it is exact.
    if (same && bound != Bound::kExact && depth + 3 < chosen->depth && age_of(*chosen) == age_) {
      return;
    }
    if (!move && same) move = chosen->move;
    if (score >= kMateBound) score += ply;
    if (score <= -kMateBound) score -= ply;
    *chosen = {key,
               move,
               static_cast<std::int16_t>(score),
               static_cast<std::int16_t>(evaluation),
               static_cast<std::int8_t>(depth),
               static_cast<std::uint8_t>(age_ << 2 | static_cast<int>(bound))};
  }

  /// Entries used by this search, in permille, from a sample.
  int fill() const {
    int used = 0;
    const std::size_t sample = std::min<std::size_t>(lines_.size(), 250);
    for (std::size_t i = 0; i < sample; ++i) {
      for (const Entry& entry : lines_[i]) {
        used += entry.bound() != Bound::kNone && age_of(entry) == age_;
      }
    }
    return static_cast<int>(used * 1000 / (sample * 4));
  }

 private:
  using Line = std::array<Entry, 4>;
  using Lines = std::vector<Line, quantized::CacheLineAllocator<Line>>;

  static int age_of(const Entry& entry) { return entry.age_and_bound >> 2; }
  int worth(const Entry& entry) const {
    if (entry.bound() == Bound::kNone) return -1000;
    return entry.depth - 8 * ((age_ - age_of(entry)) & 63);
  }
  std::size_t index(std::uint64_t key) const { return key & (lines_.size() - 1); }

  Lines lines_;
  int age_ = 0;
};

}  // namespace zerogames::chess::nnue
