#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "geometry.hpp"

namespace zerogames::go {

/// All boards of a game, as the stones that each ply put or took away, with a hash of each board.
///
/// A hash only proposes an equal earlier board; the changes since then decide, so that a collision
/// of hashes never forbids a move.
class History {
 public:
  History() = default;
  /// Leaves room for a few plies: Python's `play` copies and then adds one.
  History(const History& other) : filter_(other.filter_), num_plies_(other.num_plies_) {
    hashes_.reserve(other.hashes_.size() + kRoom);
    changes_.reserve(other.changes_.size() + kRoom);
    hashes_ = other.hashes_;
    changes_ = other.changes_;
  }
  History(History&&) = default;
  History& operator=(const History&) = default;
  History& operator=(History&&) = default;

  int plies() const { return num_plies_; }

  /// Records the board that a game starts from.
  void start(std::uint64_t hash) { add_hash(hash); }

  /// Announce the changes of one ply in order: first begin_ply, then its changes, then end_ply.
  void begin_ply() { first_ = kFirst; }
  void change(Colour player, Point point) {
    changes_.push_back(static_cast<std::uint16_t>(first_ | player << kColourShift | point));
    first_ = 0;
  }
  void end_ply(std::uint64_t hash) {
    if (first_) changes_.push_back(kFirst | kPass);
    add_hash(hash);
    ++num_plies_;
  }
  /// Records a ply in which nobody played: the turn went to the other player.
  void change_turn(std::uint64_t hash) {
    changes_.push_back(kFirst | kPass | kTurn);
    add_hash(hash);
    ++num_plies_;
  }

  /// False if no board with this hash has been; true if one may have been.
  bool may_contain(std::uint64_t hash) const {
    return (filter_[(hash >> 6) % kFilterWords] >> (hash % 64) & 1) &&
           (filter_[(hash >> 18) % kFilterWords] >> (hash >> 12) % 64 & 1);
  }

  /// Calls `visit(ply)` for the boards with this (shortened) hash until it returns true.
  template <class Visit>
  bool any_with_hash(std::uint64_t hash, Visit visit) const {
    const auto wanted = static_cast<std::uint32_t>(hash);
    std::size_t ply = 0;
#if defined(__AVX2__)
    const __m256i all = _mm256_set1_epi32(static_cast<int>(wanted));
    for (; ply + 8 <= hashes_.size(); ply += 8) {
      const auto* at = reinterpret_cast<const __m256i*>(hashes_.data() + ply);
      auto equal = static_cast<unsigned>(
          _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_loadu_si256(at), all))));
      for (; equal; equal &= equal - 1) {
        if (visit(static_cast<int>(ply) + std::countr_zero(equal))) return true;
      }
    }
#endif
    for (; ply < hashes_.size(); ++ply) {
      if (hashes_[ply] == wanted && visit(static_cast<int>(ply))) return true;
    }
    return false;
  }

  /// The stones by which the board now differs from the board after `ply`.
  std::array<Points, 2> changes_since(int ply) const {
    std::array<Points, 2> changed;
    int plies = num_plies_ - ply;
    for (std::size_t i = changes_.size(); plies > 0;) plies -= undo(changes_[--i], changed);
    return changed;
  }

  /// Calls `visit(boards)` with the boards one, two, ... plies ago, at most `count` of them.
  template <class Visit>
  void for_each_previous(std::array<Points, 2> boards, int count, Visit visit) const {
    std::size_t i = changes_.size();
    while (i > 0 && count > 0) {
      if (undo(changes_[--i], boards)) {
        visit(boards);
        --count;
      }
    }
  }

  /// What one ply did.
  struct Ply {
    bool passed = false;
    bool turn_changed = false;  ///< nobody played
    Colour player = kBlack;     ///< who played the stone
    Point point = 0;            ///< of the stone; without meaning for the other kinds
    int num_removed = 0;        ///< stones taken away, also by suicide
    Point removed = 0;          ///< the first of them
  };

  /// Calls `visit(ply, boards)` for the plies from the last one back, with the boards before each,
  /// until it returns false.
  template <class Visit>
  void for_each_ply_back(std::array<Points, 2> boards, Visit visit) const {
    Ply ply;
    for (std::size_t i = changes_.size(); i-- > 0;) {
      const std::uint16_t change = changes_[i];
      const auto point = static_cast<Point>(change & kPointMask);
      if (!undo(change, boards)) {
        ++ply.num_removed;
        ply.removed = point;
        continue;
      }
      ply.turn_changed = change & kTurn;
      ply.passed = (change & kPass) && !ply.turn_changed;
      ply.player = static_cast<Colour>(change >> kColourShift & 1);
      ply.point = point;
      if (!visit(std::as_const(ply), std::as_const(boards))) return;
      ply = {};
    }
  }

  /// Hash of the board `plies_ago`, which must exist.
  std::uint32_t hash_before(int plies_ago) const {
    return hashes_[hashes_.size() - 1 - static_cast<std::size_t>(plies_ago)];
  }

 private:
  static constexpr std::size_t kRoom = 16;
  static constexpr std::size_t kFilterWords = 64;
  // A change is colour and point; a flag marks the first of a ply.
  static constexpr int kColourShift = 10;
  static constexpr std::uint16_t kPointMask = (1 << kColourShift) - 1;
  static constexpr std::uint16_t kTurn = 0x2000;
  static constexpr std::uint16_t kPass = 0x4000;
  static constexpr std::uint16_t kFirst = 0x8000;

  static bool undo(std::uint16_t change, std::array<Points, 2>& boards) {
    if (!(change & kPass)) {
      boards[change >> kColourShift & 1].toggle(change & kPointMask);
    }
    return change & kFirst;
  }

  void add_hash(std::uint64_t hash) {
    hashes_.push_back(static_cast<std::uint32_t>(hash));
    filter_[(hash >> 6) % kFilterWords] |= std::uint64_t{1} << hash % 64;
    filter_[(hash >> 18) % kFilterWords] |= std::uint64_t{1} << (hash >> 12) % 64;
  }

  std::vector<std::uint32_t> hashes_;   ///< [plies + 1]
  std::vector<std::uint16_t> changes_;  ///< in order of play
  std::array<std::uint64_t, kFilterWords> filter_{};
  int num_plies_ = 0;
  std::uint16_t first_ = 0;
};

}  // namespace zerogames::go
