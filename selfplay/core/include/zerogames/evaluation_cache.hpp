#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>

namespace zerogames {

/// What the net said about one position, the player to move's view.
struct Evaluation {
  float value = 0;  ///< win minus loss
  float draw = 0;
  float moves_left = 0;
};

/// Remembers evaluations in a fixed amount of memory: a ring of 32-bit words, the oldest
/// overwritten first, and a table of where each key was written last.
///
/// An entry holds the raw logits of the legal actions, before any temperature or noise.
class EvaluationCache {
 public:
  /// 0 switches it off.
  explicit EvaluationCache(std::size_t bytes = 0) {
    if (bytes == 0) return;
    // A quarter for the table: one 8-byte slot per 32 bytes of entries or so.
    num_slots_ = std::bit_floor(std::max<std::size_t>(bytes / 4 / sizeof(std::uint64_t), 16));
    ring_size_ = std::max<std::size_t>((bytes - bytes / 4) / sizeof(std::uint32_t), 64);
    // Neither is touched before it is used: a short search does not pay for a large cache.
    slots_.reset(static_cast<std::uint64_t*>(std::calloc(num_slots_, sizeof(std::uint64_t))));
    if (!slots_) throw std::bad_alloc();
    ring_ = std::make_unique_for_overwrite<std::uint32_t[]>(ring_size_);
  }

  bool enabled() const { return ring_size_ > 0; }
  std::uint64_t hits() const { return hits_; }
  std::uint64_t misses() const { return misses_; }
  std::size_t bytes() const {
    return ring_size_ * sizeof(std::uint32_t) + num_slots_ * sizeof(std::uint64_t);
  }

  /// Share of the memory that is in use.
  double fill() const {
    if (!enabled()) return 0;
    return std::min(1.0, static_cast<double>(written_) / static_cast<double>(ring_size_));
  }

  /// Fills `logits` and returns true if `key` is known with exactly that many legal actions.
  bool find(std::uint64_t key, Evaluation& evaluation, std::span<float> logits) {
    if (!enabled()) return false;
    const std::uint64_t place = slots_[slot(key)];
    // `place` counts words ever written, from 1; what is older than the ring was overwritten.
    if (place != 0 && written_ + 1 - place <= ring_size_) {
      const std::uint32_t* entry = &ring_[(place - 1) % ring_size_];
      std::uint64_t found;
      std::memcpy(&found, entry, sizeof(found));
      if (found == key && entry[2] == logits.size()) {
        evaluation = {std::bit_cast<float>(entry[3]), std::bit_cast<float>(entry[4]),
                      std::bit_cast<float>(entry[5])};
        for (std::size_t i = 0; i < logits.size(); ++i) {
          logits[i] = std::bit_cast<float>(entry[kHeader + i]);
        }
        ++hits_;
        return true;
      }
    }
    ++misses_;
    return false;
  }

  void store(std::uint64_t key, const Evaluation& evaluation, std::span<const float> logits) {
    const std::size_t words = kHeader + logits.size();
    if (words > ring_size_) return;
    const std::size_t at = written_ % ring_size_;
    if (at + words > ring_size_) written_ += ring_size_ - at;  // entries do not wrap
    std::uint32_t* entry = &ring_[written_ % ring_size_];
    std::memcpy(entry, &key, sizeof(key));
    entry[2] = static_cast<std::uint32_t>(logits.size());
    entry[3] = std::bit_cast<std::uint32_t>(evaluation.value);
    entry[4] = std::bit_cast<std::uint32_t>(evaluation.draw);
    entry[5] = std::bit_cast<std::uint32_t>(evaluation.moves_left);
    for (std::size_t i = 0; i < logits.size(); ++i) {
      entry[kHeader + i] = std::bit_cast<std::uint32_t>(logits[i]);
    }
    slots_[slot(key)] = written_ + 1;
    written_ += words;
  }

 private:
  static constexpr std::size_t kHeader = 6;  ///< key, number of logits, evaluation

  std::size_t slot(std::uint64_t key) const { return key & (num_slots_ - 1); }

  struct Free {
    void operator()(std::uint64_t* slots) const { std::free(slots); }
  };
  std::unique_ptr<std::uint32_t[]> ring_;
  std::unique_ptr<std::uint64_t[], Free> slots_;
  std::size_t ring_size_ = 0, num_slots_ = 0;
  std::uint64_t written_ = 0, hits_ = 0, misses_ = 0;
};

}  // namespace zerogames
