#pragma once

#include <charconv>
#include <memory>
#include <string>
#include <string_view>

#include "line_blocks.hpp"
#include "zerogames/error.hpp"

namespace zerogames::chess::nnue {

using TopPairs = std::span<const std::array<std::uint16_t, 2>>;

namespace detail {

template <class B>
std::unique_ptr<Block> make_block() {
  return std::make_unique<B>();
}

struct NamedBlock {
  std::string_view name;
  std::unique_ptr<Block> (*make)();
};
/// A new block is one class and one line here.
inline constexpr NamedBlock kBlocks[] = {
    {"piece", make_block<PieceBlock>},
    {"h", make_block<Product<File, Role, Colour>>},
    {"v", make_block<Product<Rank, Role, Colour>>},
    {"d1", make_block<Product<Diag1, Role, Colour>>},
    {"d2", make_block<Product<Diag2, Role, Colour>>},
    {"kp", make_block<Product<OwnKing, Square, Role5, Colour>>},
    {"relh", make_block<Product<RelFile, Rank, Role5, Colour>>},
    {"relv", make_block<Product<File, RelRank, Role5, Colour>>},
    {"relhv", make_block<Product<RelFile, RelRank, Role5, Colour>>},
    {"move", make_block<MoveBlock>},
    {"px", make_block<NeighbourBlock<true>>},
    {"py", make_block<NeighbourBlock<false>>},
    {"mb", make_block<AttackBlock>},
    {"mc", make_block<AttackCountBlock>},
    {"pp", make_block<PairBlock>},
};

}  // namespace detail

/// A sum of blocks by name, such as `piece+h+v`.
class FeatureSet {
 public:
  struct Part {
    std::unique_ptr<Block> block;
    Index offset;
  };

  static constexpr std::size_t kMostParts = 32;

  /// `top_pairs` is the list from which the blocks `toppp:K` take their first K.
  FeatureSet(std::string name, TopPairs top_pairs) : name_(std::move(name)) {
    std::string_view rest = name_;
    while (true) {
      const auto end = rest.find('+');
      if (parts_.size() == kMostParts) throw Error("a feature set has at most 32 blocks");
      parts_.push_back({parse_block(rest.substr(0, end), top_pairs), size_});
      size_ += parts_.back().block->size();
      max_active_ += parts_.back().block->max_active();
      if (end == rest.npos) break;
      rest.remove_prefix(end + 1);
    }
  }

  FeatureSet(FeatureSet&&) = default;
  FeatureSet& operator=(FeatureSet&&) = default;

  const std::string& name() const { return name_; }
  int size() const { return size_; }
  int max_active() const { return max_active_; }
  const std::vector<Part>& parts() const { return parts_; }

  /// Replaces `out` by the active features, each once.
  void active(const Placement& view, Indices& out) const {
    out.clear();
    for (const Part& part : parts_) part.block->active(view, part.offset, out);
  }

  /// Replaces the lists by what changed; false if a fresh start is needed instead.
  bool changed(const Transition& way, Indices& added, Indices& removed) const {
    added.clear(), removed.clear();
    for (const Part& part : parts_) {
      if (!part.block->changed(way, part.offset, added, removed)) return false;
    }
    return true;
  }

 private:
  static std::unique_ptr<Block> parse_block(std::string_view text, TopPairs top_pairs) {
    for (const auto& known : detail::kBlocks) {
      if (known.name == text) return known.make();
    }
    constexpr std::string_view kTop = "toppp:";
    std::size_t number = 0;
    if (text.starts_with(kTop)) {
      const std::string_view digits = text.substr(kTop.size());
      const auto [end, error] =
          std::from_chars(digits.data(), digits.data() + digits.size(), number);
      if (error == std::errc() && end == digits.data() + digits.size() && number >= 1 &&
          number <= top_pairs.size()) {
        return std::make_unique<TopPairBlock>(top_pairs.first(number));
      }
    }
    throw Error("unknown feature block '" + std::string(text.substr(0, 40)) + "'");
  }

  std::string name_;
  std::vector<Part> parts_;
  Index size_ = 0;
  int max_active_ = 0;
};

/// The view of the other side.
constexpr Placement turned(Placement view) {
  view.turn();
  return view;
}

/// The view of White (false) or Black (true).
constexpr Placement view_of(const Board& board, bool black) {
  return board.black_to_move == black ? static_cast<const Placement&>(board)
                                      : turned(static_cast<const Placement&>(board));
}

}  // namespace zerogames::chess::nnue
