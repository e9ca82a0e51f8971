#pragma once

#include <array>
#include <bit>
#include <charconv>
#include <string>
#include <vector>

#include "grid.hpp"
#include "zerogames/error.hpp"
#include "zerogames/game.hpp"
#include "zerogames/hash.hpp"

namespace zerogames::boards {

/// Ataxx on 4x4 to 8x8 cells. A move either clones a piece onto a neighbouring empty cell or makes
/// one jump two cells away (as a king's or a knight's double step, over anything); either turns all
/// opposing neighbours of its target. The first player, x, begins in the corners at the upper left
/// and lower right. Most pieces win when nobody can move, or when a side has none left; 100 moves
/// in a row that only jump or pass are a draw.
///
/// Actions: `cell` clones to a cell (from where does not matter); (1 + d) * cells + `cell` jumps
/// from a cell in direction d, see kJumps; the last one passes, legal only without other moves.
/// cell = row * size + column, row 0 at the bottom.
class Ataxx {
 public:
  static constexpr int kMaxJumps = 100;
  /// Rows and columns of the sixteen jumps.
  static constexpr std::array<std::array<int, 2>, 16> kJumps = [] {
    std::array<std::array<int, 2>, 16> jumps{};
    int count = 0;
    for (int row = -2; row <= 2; ++row) {
      for (int column = -2; column <= 2; ++column) {
        if (row * row == 4 || column * column == 4) jumps[count++] = {row, column};
      }
    }
    return jumps;
  }();

  /// The one encoding, "pieces": own pieces, the opponent's, blocked cells, the share of 100 moves
  /// without a clone, ones.
  struct Encoding {};
  static Encoding parse_encoding(std::string_view text) {
    return require_encoding("ataxx", "pieces", text), Encoding{};
  }

  /// `blocked` has a bit for each cell, row * size + column.
  explicit Ataxx(int size = 7, std::uint64_t blocked = 0) : size_(size) {
    if (size < 4 || size > 8) throw Error("ataxx is played on 4x4 to 8x8 cells");
    const int last = size - 1;
    pieces_[0] = bit(last, 0) | bit(0, last);
    pieces_[1] = bit(0, 0) | bit(last, last);
    blocked_ = spread(blocked);
    if ((blocked_ & ~board()) != 0) throw Error("a blocked cell is not on the board");
    if ((blocked_ & (pieces_[0] | pieces_[1])) != 0) throw Error("the corners cannot be blocked");
    update();
  }

  /// Rows from the top with x, o and - for blocked cells, the side to move and how many moves in a
  /// row were no clones: "x5o/7/2-1-2/7/2-1-2/7/o5x x 0".
  static Ataxx from_text(int size, std::string_view text) {
    Ataxx state(size);
    state.pieces_[0] = state.pieces_[1] = 0;
    const auto rest = read_rows(text, size, size, "xo-", [&](int row, int column, int letter) {
      const std::uint64_t cell = bit(size - 1 - row, column);
      (letter == 2 ? state.blocked_ : state.pieces_[letter]) |= cell;
    });
    const auto space = std::min(rest.size(), rest.find(' '));
    state.to_play_ = read_side(rest.substr(0, space), "xo");
    const auto count = rest.substr(std::min(rest.size(), space + 1));
    const auto read = std::from_chars(count.data(), count.data() + count.size(), state.jumps_);
    if (read.ec != std::errc() || read.ptr != count.data() + count.size() || state.jumps_ < 0 ||
        state.jumps_ > kMaxJumps) {
      throw Error("after the side to move comes the number of moves without a clone, 0 to 100");
    }
    if ((state.pieces_[0] | state.pieces_[1]) == 0) throw Error("there is no piece on the board");
    state.update();
    return state;
  }
  std::string to_text() const {
    const auto letter = [&](int row, int column) {
      const std::uint64_t cell = bit(size_ - 1 - row, column);
      return (pieces_[0] & cell) != 0   ? 'x'
             : (pieces_[1] & cell) != 0 ? 'o'
             : (blocked_ & cell) != 0   ? '-'
                                        : '\0';
    };
    return write_rows(size_, size_, letter) + (to_play_ == 0 ? " x " : " o ") +
           std::to_string(jumps_);
  }

  int action_size() const { return 17 * size_ * size_ + 1; }
  int to_play() const { return to_play_; }
  int plies() const { return plies_; }

  void legal_actions(std::vector<Action>& actions) const {
    actions.clear();
    if (end_ != kRunning) return;
    const int cells = size_ * size_;
    add_cells(actions, 0, clone_targets(to_play_));
    for (int direction = 0; direction < 16; ++direction) {
      add_cells(actions, (1 + direction) * cells, jumpers(to_play_, direction));
    }
    if (actions.empty()) actions.push_back(17 * cells);
  }
  bool is_legal(Action action) const {
    const int cells = size_ * size_;
    if (end_ != kRunning) return false;
    if (action == 17 * cells) return !can_move(to_play_);
    const std::uint64_t cell = bit(action % cells / size_, action % size_);
    if (action < cells) return (clone_targets(to_play_) & cell) != 0;
    return (jumpers(to_play_, action / cells - 1) & cell) != 0;
  }

  void play(Action action) {
    const int cells = size_ * size_;
    jumps_ = action < cells ? 0 : jumps_ + 1;
    if (action < 17 * cells) {
      std::uint64_t target = bit(action % cells / size_, action % size_);
      if (action >= cells) {
        const auto& [rows, columns] = kJumps[static_cast<std::size_t>(action / cells - 1)];
        pieces_[to_play_] ^= target;
        target = shifted(target, rows, columns);
      }
      const std::uint64_t turned = around(target) & pieces_[1 - to_play_];
      pieces_[to_play_] |= target | turned;
      pieces_[1 - to_play_] ^= turned;
    }
    to_play_ ^= 1;
    ++plies_;
    update();
  }

  std::optional<float> result() const {
    if (end_ == kRunning) return std::nullopt;
    if (end_ == kJumping) return 0.0F;
    const int lead = std::popcount(pieces_[0]) - std::popcount(pieces_[1]);
    return lead > 0 ? 1.0F : lead < 0 ? -1.0F : 0.0F;
  }
  std::string_view end_reason() const {
    constexpr std::string_view kReasons[] = {"", "no moves left", "no pieces left",
                                             "100 moves without a clone"};
    return kReasons[end_];
  }

  std::uint64_t position_key() const {
    const auto side = static_cast<std::uint64_t>(to_play_);
    return hash_combine(hash_combine(hash_combine(mix(pieces_[0]), pieces_[1]), blocked_), side);
  }
  std::uint64_t observation_key() const {
    return hash_combine(position_key(), static_cast<std::uint64_t>(jumps_));
  }

  Shape observation_shape(Encoding) const { return {5, size_, size_}; }
  void pack(Encoding, PackedPlanes& packed) const {
    packed.bits = {compact(pieces_[to_play_]), compact(pieces_[1 - to_play_]), compact(blocked_)};
    packed.constants = {static_cast<float>(jumps_) / kMaxJumps, 1.0F};
  }
  void observe(Encoding encoding, std::span<float> planes) const {
    observe_packed(*this, encoding, planes);
  }

 private:
  // Bitboards have eight columns, whatever the board has.
  enum End : std::uint8_t { kRunning, kNoMoves, kNoPieces, kJumping };

  static constexpr std::uint64_t bit(int row, int column) {
    return std::uint64_t{1} << (8 * row + column);
  }
  std::uint64_t board() const {
    std::uint64_t board = 0;
    for (int row = 0; row < size_; ++row) board |= ((std::uint64_t{1} << size_) - 1) << (8 * row);
    return board;
  }
  std::uint64_t empty() const { return board() & ~(pieces_[0] | pieces_[1] | blocked_); }

  /// All cells moved by so many rows and columns; those that would leave the board vanish.
  std::uint64_t shifted(std::uint64_t cells, int rows, int columns) const {
    constexpr std::uint64_t kColumn = 0x0101010101010101ULL;
    for (int i = 0; i < columns; ++i) cells = (cells & ~(kColumn << 7)) << 1;
    for (int i = 0; i < -columns; ++i) cells = (cells & ~kColumn) >> 1;
    return rows >= 0 ? cells << (8 * rows) : cells >> (-8 * rows);
  }
  /// The cells and their neighbours.
  std::uint64_t around(std::uint64_t cells) const {
    cells |= shifted(cells, 0, 1) | shifted(cells, 0, -1);
    return cells | cells << 8 | cells >> 8;
  }

  std::uint64_t clone_targets(int side) const { return around(pieces_[side]) & empty(); }
  std::uint64_t jumpers(int side, int direction) const {
    const auto& [rows, columns] = kJumps[static_cast<std::size_t>(direction)];
    return pieces_[side] & shifted(empty(), -rows, -columns);
  }
  bool can_move(int side) const { return (around(around(pieces_[side])) & empty()) != 0; }

  void update() {
    end_ = kRunning;
    if (pieces_[0] == 0 || pieces_[1] == 0) {
      end_ = kNoPieces;
    } else if (!can_move(0) && !can_move(1)) {
      end_ = kNoMoves;
    } else if (jumps_ >= kMaxJumps) {
      end_ = kJumping;
    }
  }

  void add_cells(std::vector<Action>& actions, int first, std::uint64_t cells) const {
    for (; cells != 0; cells &= cells - 1) {
      const int cell = std::countr_zero(cells);
      actions.push_back(first + cell / 8 * size_ + cell % 8);
    }
  }

  /// From eight columns to the board's, and back.
  std::uint64_t compact(std::uint64_t cells) const {
    std::uint64_t packed = 0;
    const std::uint64_t row_mask = (std::uint64_t{1} << size_) - 1;
    for (int row = 0; row < size_; ++row) {
      packed |= ((cells >> (8 * row)) & row_mask) << (size_ * row);
    }
    return packed;
  }
  std::uint64_t spread(std::uint64_t packed) const {
    std::uint64_t cells = 0;
    const std::uint64_t row_mask = (std::uint64_t{1} << size_) - 1;
    for (int row = 0; row < size_; ++row) {
      cells |= ((packed >> (size_ * row)) & row_mask) << (8 * row);
    }
    return cells;
  }

  std::uint64_t pieces_[2] = {0, 0};
  std::uint64_t blocked_ = 0;
  int size_;
  int plies_ = 0;
  int to_play_ = 0;
  int jumps_ = 0;  ///< moves in a row that were no clones
  End end_ = kRunning;
};

static_assert(PackedGame<Ataxx>);

}  // namespace zerogames::boards
