#pragma once

// How a tensor is cut into work: blocks of channels and chunks of images.

#include <numeric>
#include <type_traits>

#include "tile.hpp"

namespace zerogames::kernels {

inline constexpr int kRadius = 2;
inline constexpr int kMaxBoard = 25;
inline constexpr int kMaxTaps = 25;

struct Tap {
  int row;
  int column;
};

/// The taps of a group by their column, from the left: the row each leads to, and whose weight it
/// has.
struct Pattern {
  struct Row {
    int row;
    int tap;
  };
  std::array<std::vector<Row>, 2 * kRadius + 1> columns;
};

/// Adjacent blocks of one group.
struct Strip {
  int first;
  int count;
};

/// A piece of work: images `[first, last)` of a chunk and some strips.
struct Item {
  std::int64_t chunk;
  std::int64_t first, last;
  std::span<const Strip> strips;
};

/// Shapes and tables of one depthwise layer. Immutable, so threads share it.
class Plan {
 public:
  /// Group g has `group_sizes[g]` adjacent channels and the taps
  /// `offsets[g * taps] .. offsets[(g + 1) * taps]`.
  Plan(const Board& board, std::span<const std::int64_t> group_sizes, std::span<const Tap> offsets)
      : board_(board) {
    if (board.height < 1 || board.height > kMaxBoard || board.width < 1 ||
        board.width > kMaxBoard) {
      throw std::invalid_argument("a board has 1 to 25 rows and columns, not " +
                                  std::to_string(board.height) + "x" + std::to_string(board.width));
    }
    if (board.batch < 0 || group_sizes.empty() || offsets.size() % group_sizes.size() != 0) {
      throw std::invalid_argument("every group of channels needs the same number of taps");
    }
    taps_ = static_cast<int>(offsets.size() / group_sizes.size());
    if (taps_ > kMaxTaps) throw std::invalid_argument("a pattern has at most 25 taps");
    for (const Tap& tap : offsets) {
      if (std::max(std::abs(tap.row), std::abs(tap.column)) > kRadius) {
        throw std::invalid_argument("a tap lies outside the 5x5 window");
      }
    }
    std::int64_t channel = 0;
    for (std::size_t group = 0; group < group_sizes.size(); ++group) {
      if (group_sizes[group] < 0) throw std::invalid_argument("a group has a negative size");
      const std::int64_t end = channel + group_sizes[group];
      const int first = static_cast<int>(blocks_.size());
      for (; channel < end; channel += kLanes) {
        const auto lanes = static_cast<int>(std::min<std::int64_t>(kLanes, end - channel));
        blocks_.push_back({channel, lanes, static_cast<int>(group)});
      }
      channel = end;
      const int last = static_cast<int>(blocks_.size());
      if (last > first) runs_.push_back({first, last - first});
      for (int b = first; b < last; b += kStripBlocks) {
        strips_.push_back({b, std::min(kStripBlocks, last - b)});
      }
    }
    if (channel != board.channels) {
      throw std::invalid_argument("the groups have " + std::to_string(channel) +
                                  " channels, the tensor has " + std::to_string(board.channels));
    }
    for (std::size_t group = 0; group < group_sizes.size(); ++group) {
      auto& pattern = patterns_.emplace_back();
      auto& mirrored = mirrored_.emplace_back();
      for (int k = 0; k < taps_; ++k) {
        const Tap& tap = offsets[group * taps_ + k];
        pattern.columns[kRadius + tap.column].push_back({tap.row, k});
        mirrored.columns[kRadius - tap.column].push_back({-tap.row, k});
      }
    }
    cut();
  }

  // Items point into the strips.
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  const Board& board() const { return board_; }
  int taps() const { return taps_; }
  std::span<const Block> blocks() const { return blocks_; }
  std::span<const Block> blocks(const Strip& strip) const {
    return blocks().subspan(strip.first, strip.count);
  }
  /// The work in strips of at most kStripBlocks, for convolutions.
  std::span<const Item> items() const { return items_; }
  /// The work in strips as wide as the groups, for what runs along memory.
  std::span<const Item> run_items() const { return run_items_; }
  std::int64_t chunks() const { return chunks_; }
  std::int64_t chunk_images(std::int64_t chunk) const {
    return (chunk + 1) * board_.batch / chunks_ - chunk * board_.batch / chunks_;
  }

  /// The taps of a group, and those of the gradient: the same steps backwards.
  const Pattern& pattern(int group) const { return patterns_[group]; }
  const Pattern& mirrored(int group) const { return mirrored_[group]; }

  /// Whether a convolution reads these blocks where they are, without a tile. They must be float32:
  /// others are widened once, not for every tap. The squares a tap can reach must stay in the first
  /// cache (64 sets of 8 lines); if the channels are a multiple of a power of two, those squares
  /// share few of its sets.
  template <typename Element>
  bool in_place(std::span<const Block> blocks) const {
    if (!std::is_same_v<Element, float>) return false;
    constexpr std::int64_t kLine = 64, kSets = 64, kWays = 8;
    const auto repeats = std::gcd<std::int64_t, std::int64_t>(4 * board_.channels, kLine * kSets);
    const auto sets = std::min(kSets, kLine * kSets / repeats);
    return board_.channels_last && blocks.back().lanes == kLanes &&
           (2 * kRadius + 1) * board_.width <= sets * kWays;
  }

  /// `[C]` to one vector per block; a missing array means `fallback` everywhere.
  std::vector<Vec> pack(const float* values, float fallback) const {
    std::vector<Vec> packed(blocks_.size(), splat(fallback));
    if (values == nullptr) return packed;
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      packed[b] = load_lanes(values + blocks_[b].channel, blocks_[b].lanes);
    }
    return packed;
  }

  /// `[C, K]` to `[block][tap]` vectors.
  std::vector<Vec> pack_weights(const float* weight) const {
    std::vector<Vec> packed(blocks_.size() * taps_, Vec{});
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      for (int lane = 0; lane < blocks_[b].lanes; ++lane) {
        for (int k = 0; k < taps_; ++k) {
          packed[b * taps_ + k][lane] = weight[(blocks_[b].channel + lane) * taps_ + k];
        }
      }
    }
    return packed;
  }

 private:
  // The cut depends on the shape alone: sums come out the same with any number of threads.
  void cut() {
    constexpr std::int64_t kChunks = 32;
    chunks_ = std::min(board_.batch, kChunks);
    items_ = cut(strips_, chunks_ >= 16 ? strips_.size() : 2);
    run_items_ = cut(runs_, 1);
  }

  std::vector<Item> cut(std::span<const Strip> strips, std::size_t step) const {
    std::vector<Item> items;
    for (std::int64_t chunk = 0; chunk < chunks_; ++chunk) {
      for (std::size_t s = 0; s < strips.size(); s += step) {
        items.push_back({chunk, chunk * board_.batch / chunks_,
                         (chunk + 1) * board_.batch / chunks_,
                         strips.subspan(s, std::min(step, strips.size() - s))});
      }
    }
    return items;
  }

  Board board_;
  int taps_ = 0;
  std::int64_t chunks_ = 0;
  std::vector<Block> blocks_;
  std::vector<Strip> strips_;
  std::vector<Strip> runs_;
  std::vector<Item> items_;
  std::vector<Item> run_items_;
  std::vector<Pattern> patterns_;
  std::vector<Pattern> mirrored_;
};

/// Runs `work(item, image, strip, thread)` over all items.
template <typename Work>
inline void for_each_strip(std::span<const Item> items, int threads, Work work) {
  parallel_for(static_cast<std::int64_t>(items.size()), threads,
               [&](std::int64_t index, int thread) {
                 const Item& item = items[index];
                 for (std::int64_t image = item.first; image < item.last; ++image) {
                   for (const Strip& strip : item.strips) work(item, image, strip, thread);
                 }
               });
}

/// Working memory of each thread, zeros at first.
class Scratch {
 public:
  Scratch(int threads, int size)
      : size_(size), vectors_(static_cast<std::size_t>(std::max(threads, 1)) * size, Vec{}) {}

  Vec* of(int thread) { return vectors_.data() + static_cast<std::ptrdiff_t>(thread) * size_; }

 private:
  int size_;
  std::vector<Vec> vectors_;
};

/// Sums over images and positions, kept per chunk and added up in double precision.
class PartialSums {
 public:
  PartialSums(const Plan& plan, int width)
      : plan_(plan),
        width_(width),
        sums_(static_cast<std::size_t>(plan.chunks()) * plan.blocks().size() * width, Vec{}) {}

  Vec* at(std::int64_t chunk, int block) {
    return &sums_[(chunk * plan_.blocks().size() + block) * width_];
  }

  /// Writes the totals to `out[C, width]`.
  void write(float* out) {
    const auto blocks = plan_.blocks();
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      for (int lane = 0; lane < blocks[b].lanes; ++lane) {
        for (int k = 0; k < width_; ++k) {
          double total = 0;
          for (std::int64_t chunk = 0; chunk < plan_.chunks(); ++chunk) {
            total += at(chunk, static_cast<int>(b))[k][lane];
          }
          out[(blocks[b].channel + lane) * width_ + k] = static_cast<float>(total);
        }
      }
    }
  }

 private:
  const Plan& plan_;
  int width_;
  std::vector<Vec> sums_;
};

/// The moments of one tile, taken around one of its own values so that a large mean costs no
/// digits.
struct TileMoments {
  Vec pivot{}, sum{}, squares{};

  void add(const Vec& value) {
    const Vec off = value - pivot;
    sum += off;
    squares += off * off;
  }
};

/// Mean and variance per channel, merged tile by tile.
class PartialMoments {
 public:
  explicit PartialMoments(const Plan& plan) : plan_(plan), sums_(plan, 2) {}

  /// Merges a tile; `seen` images of the chunk came before.
  void add(std::int64_t chunk, int block, const TileMoments& tile, std::int64_t seen) {
    const auto positions = static_cast<float>(plan_.board().positions());
    const Vec off = tile.sum / positions;
    const Vec squares = tile.squares - tile.sum * off;
    Vec* moments = sums_.at(chunk, block);
    const Vec delta = tile.pivot + off - moments[0];
    const auto before = static_cast<float>(seen);
    moments[0] += delta / (before + 1.0f);
    moments[1] += squares + delta * delta * (positions * before / (before + 1.0f));
  }

  /// Writes `mean[C]` and the biased `variance[C]`.
  void write(float* mean, float* variance) {
    const auto blocks = plan_.blocks();
    const double positions = plan_.board().positions();
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      for (int lane = 0; lane < blocks[b].lanes; ++lane) {
        double count = 0, centre = 0, squares = 0;
        for (std::int64_t chunk = 0; chunk < plan_.chunks(); ++chunk) {
          const Vec* moments = sums_.at(chunk, static_cast<int>(b));
          const double added = static_cast<double>(plan_.chunk_images(chunk)) * positions;
          const double delta = moments[0][lane] - centre;
          squares += moments[1][lane] + delta * delta * count * added / (count + added);
          count += added;
          centre += delta * added / count;
        }
        mean[blocks[b].channel + lane] = static_cast<float>(centre);
        variance[blocks[b].channel + lane] =
            count == 0 ? 0.0f : static_cast<float>(std::max(squares / count, 0.0));
      }
    }
  }

 private:
  const Plan& plan_;
  PartialSums sums_;
};

}  // namespace zerogames::kernels
