#pragma once

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "grid.hpp"
#include "zerogames/error.hpp"
#include "zerogames/game.hpp"
#include "zerogames/hash.hpp"

namespace zerogames::boards {

/// The Game of the Amazons on 4x4 to 10x10 cells. A turn is three actions of the same side, each a
/// cell: the amazon that moves, where it goes (as a chess queen), and where it shoots from there
/// (as a queen, too); the arrow blocks its cell for good. Who cannot move has lost.
///
/// Action = row * size + column, row 0 at the bottom, the same for both sides.
class Amazons {
 public:
  static constexpr int kMaxSize = 10;
  enum Stage : std::uint8_t { kChoose, kMove, kShoot };

  /// The one encoding, "queens": own amazons, the opponent's, arrows, the amazon of this turn,
  /// whether it moves now, whether it shoots now, ones.
  struct Encoding {};
  static Encoding parse_encoding(std::string_view text) {
    return require_encoding("amazons", "queens", text), Encoding{};
  }

  explicit Amazons(int size = 10) : size_(size) {
    if (size < 4 || size > kMaxSize) throw Error("amazons is played on 4x4 to 10x10 cells");
    // On 10x10 d1, g1, a4, j4 and their mirror images; smaller boards keep the proportions.
    const int near = (size - 1) / 3, far = size - 1 - near, last = size - 1;
    for (const auto& [row, column] : {std::pair(0, near), {0, far}, {near, 0}, {near, last}}) {
      cells_[row * size + column] = kWhite;
      cells_[(last - row) * size + column] = kWhite + 1;
    }
  }

  /// Rows from the top: amazons w and b, arrows x; then the side to move, and in the middle of a
  /// turn "move" or "shoot" with the cell of the amazon: "3w/1b2/x3/4 b move b3".
  static Amazons from_text(int size, std::string_view text) {
    Amazons state(size);
    state.cells_ = {};
    int amazons[2] = {0, 0};
    auto rest = read_rows(text, size, size, "wbx", [&](int row, int column, int letter) {
      constexpr std::uint8_t kLetters[3] = {kWhite, kWhite + 1, kArrow};
      state.cells_[(size - 1 - row) * size + column] = kLetters[letter];
      if (letter < 2) ++amazons[letter];
    });
    if (amazons[0] > 4 || amazons[1] > 4) throw Error("a side has at most four amazons");
    const auto space = rest.find(' ');
    state.to_play_ = read_side(rest.substr(0, space), "wb");
    if (space != std::string_view::npos) state.read_stage(rest.substr(space + 1));
    state.update_end();
    return state;
  }
  std::string to_text() const {
    const auto letter = [&](int row, int column) {
      return "\0xwb"[cells_[(size_ - 1 - row) * size_ + column]];
    };
    std::string text = write_rows(size_, size_, letter) + (to_play_ == 0 ? " w" : " b");
    if (stage_ == kChoose) return text;
    text += stage_ == kMove ? " move " : " shoot ";
    text += static_cast<char>('a' + chosen_ % size_);
    return text + std::to_string(chosen_ / size_ + 1);
  }

  int action_size() const { return size_ * size_; }
  int to_play() const { return to_play_; }
  int plies() const { return plies_; }

  void legal_actions(std::vector<Action>& actions) const {
    actions.clear();
    if (lost_) return;
    if (stage_ == kChoose) {
      for (int cell = 0; cell < size_ * size_; ++cell) {
        if (is_movable(cell)) actions.push_back(cell);
      }
      return;
    }
    Cells reached;
    for (int direction = 0; direction < 8; ++direction) {
      walk(chosen_, direction, [&](int cell) { return reached.add(cell), false; });
    }
    for (int cell = 0; cell < size_ * size_; ++cell) {
      if (reached[cell]) actions.push_back(cell);
    }
  }
  bool is_legal(Action action) const {
    if (lost_) return false;
    if (stage_ == kChoose) return is_movable(action);
    for (int direction = 0; direction < 8; ++direction) {
      if (walk(chosen_, direction, [&](int cell) { return cell == action; })) return true;
    }
    return false;
  }

  void play(Action action) {
    if (stage_ == kMove) std::swap(cells_[chosen_], cells_[action]);
    if (stage_ == kShoot) {
      cells_[action] = kArrow;
      to_play_ ^= 1;
      stage_ = kChoose;
    } else {
      chosen_ = static_cast<std::uint8_t>(action);
      stage_ = stage_ == kChoose ? kMove : kShoot;
    }
    ++plies_;
    update_end();
  }

  std::optional<float> result() const {
    if (!lost_) return std::nullopt;
    return to_play_ == 1 ? 1.0F : -1.0F;
  }
  std::string_view end_reason() const { return lost_ ? "no amazon can move" : ""; }

  std::uint64_t position_key() const {
    std::uint64_t key =
        mix(static_cast<std::uint64_t>(to_play_) << 16 | static_cast<std::uint64_t>(stage_) << 8 |
            (stage_ == kChoose ? 0 : chosen_));
    std::uint64_t word = 0;
    for (int cell = 0; cell < size_ * size_; ++cell) {
      word = word << 2 | cells_[cell];
      if (cell % 32 == 31) key = hash_combine(key, word);
    }
    return hash_combine(key, word);
  }
  std::uint64_t observation_key() const { return position_key(); }

  Shape observation_shape(Encoding) const { return {7, size_, size_}; }
  void pack(Encoding, PackedPlanes& packed) const {
    Cells contents[4], chosen;
    for (int cell = 0; cell < size_ * size_; ++cell) contents[cells_[cell]].add(cell);
    if (stage_ != kChoose) chosen.add(chosen_);
    packed.bits.clear();
    contents[kWhite + to_play_].append_to(packed, size_ * size_);
    contents[kWhite + 1 - to_play_].append_to(packed, size_ * size_);
    contents[kArrow].append_to(packed, size_ * size_);
    chosen.append_to(packed, size_ * size_);
    packed.constants = {stage_ == kMove ? 1.0F : 0.0F, stage_ == kShoot ? 1.0F : 0.0F, 1.0F};
  }
  void observe(Encoding encoding, std::span<float> planes) const {
    observe_packed(*this, encoding, planes);
  }

 private:
  /// A cell: 0 if it is free.
  static constexpr std::uint8_t kArrow = 1, kWhite = 2;

  /// Calls `visit(cell)` for the free cells in a direction until it returns true; says whether it
  /// did.
  template <class Visit>
  bool walk(int from, int direction, Visit visit) const {
    constexpr int kRows[8] = {-1, -1, -1, 0, 0, 1, 1, 1};
    constexpr int kColumns[8] = {-1, 0, 1, -1, 1, -1, 0, 1};
    int row = from / size_, column = from % size_;
    for (;;) {
      row += kRows[direction];
      column += kColumns[direction];
      if (row < 0 || row >= size_ || column < 0 || column >= size_) return false;
      const int cell = row * size_ + column;
      if (cells_[cell] != 0) return false;
      if (visit(cell)) return true;
    }
  }

  /// An amazon of the side to move with a free cell beside it.
  bool is_movable(int cell) const {
    if (cells_[cell] != kWhite + to_play_) return false;
    for (int direction = 0; direction < 8; ++direction) {
      if (walk(cell, direction, [](int) { return true; })) return true;
    }
    return false;
  }

  /// An amazon that has moved can always shoot back to where it came from.
  void update_end() {
    lost_ = stage_ == kChoose;
    for (int cell = 0; lost_ && cell < size_ * size_; ++cell) lost_ = !is_movable(cell);
  }

  void read_stage(std::string_view text) {
    const bool moves = text.starts_with("move "), shoots = text.starts_with("shoot ");
    const auto name = text.substr(std::min(text.size(), text.find(' ') + 1));
    const int column = name.empty() ? -1 : name[0] - 'a';
    const int row = name.size() < 2 ? -1 : std::atoi(std::string(name.substr(1)).c_str()) - 1;
    if ((!moves && !shoots) || row < 0 || row >= size_ || column < 0 || column >= size_) {
      throw Error("the middle of a turn is written as move or shoot and the amazon's cell");
    }
    chosen_ = static_cast<std::uint8_t>(row * size_ + column);
    if (!is_movable(chosen_)) throw Error("no amazon of the side to move can go on from there");
    stage_ = moves ? kMove : kShoot;
  }

  std::array<std::uint8_t, kMaxSize * kMaxSize> cells_ = {};
  int size_;
  int plies_ = 0;
  int to_play_ = 0;
  Stage stage_ = kChoose;
  std::uint8_t chosen_ = 0;
  bool lost_ = false;  ///< the side to move has lost
};

static_assert(PackedGame<Amazons>);

}  // namespace zerogames::boards
