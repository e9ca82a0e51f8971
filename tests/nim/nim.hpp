#pragma once

#include <array>
#include <string>

#include "zerogames/error.hpp"
#include "zerogames/game.hpp"
#include "zerogames/hash.hpp"

/// Three heaps of up to four matches; take any number from one heap, the last match wins.
/// Action = 4 * heap + (matches taken - 1).
class Nim {
 public:
  struct Encoding {};
  static Encoding parse_encoding(std::string_view text) {
    if (text != "heaps") throw zerogames::Error("nim has one encoding, heaps");
    return {};
  }

  /// Three digits and the side to move, e.g. "344 0".
  static Nim from_text(std::string_view text) {
    Nim state;
    if (text.size() != 5 || text[3] != ' ' || (text[4] != '0' && text[4] != '1')) {
      throw zerogames::Error("a position is three heaps and the side to move, e.g. 344 0");
    }
    for (int heap = 0; heap < 3; ++heap) {
      if (text[heap] < '0' || text[heap] > '4') throw zerogames::Error("a heap has 0 to 4 matches");
      state.heaps_[heap] = text[heap] - '0';
    }
    state.to_play_ = text[4] - '0';
    return state;
  }
  std::string to_text() const {
    std::string text;
    for (const int heap : heaps_) text += static_cast<char>('0' + heap);
    return text + ' ' + static_cast<char>('0' + to_play_);
  }

  int action_size() const { return 12; }
  int to_play() const { return to_play_; }
  int plies() const { return plies_; }
  bool is_legal(zerogames::Action action) const { return action % 4 < heaps_[action / 4]; }
  void legal_actions(std::vector<zerogames::Action>& actions) const {
    actions.clear();
    for (zerogames::Action action = 0; action < 12; ++action) {
      if (is_legal(action)) actions.push_back(action);
    }
  }
  void play(zerogames::Action action) {
    heaps_[action / 4] -= action % 4 + 1;
    to_play_ ^= 1;
    ++plies_;
  }
  std::optional<float> result() const {
    if (heaps_[0] + heaps_[1] + heaps_[2] > 0) return std::nullopt;
    return to_play_ == 1 ? 1.0F : -1.0F;
  }
  std::string_view end_reason() const { return result() ? "last match taken" : ""; }
  std::uint64_t position_key() const {
    return zerogames::mix(
        static_cast<std::uint64_t>(heaps_[0] + 5 * heaps_[1] + 25 * heaps_[2] + 125 * to_play_));
  }
  std::uint64_t observation_key() const { return position_key(); }
  zerogames::Shape observation_shape(Encoding) const { return {1, 3, 4}; }
  void observe(Encoding, std::span<float> planes) const {
    for (int cell = 0; cell < 12; ++cell) planes[cell] = is_legal(cell) ? 1.0F : 0.0F;
  }
  void pack(Encoding, zerogames::PackedPlanes& packed) const {
    std::uint64_t bits = 0;
    for (int cell = 0; cell < 12; ++cell) bits |= std::uint64_t{is_legal(cell)} << cell;
    packed.bits = {bits};
    packed.constants = {};
  }

 private:
  std::array<int, 3> heaps_ = {3, 4, 4};
  int to_play_ = 0;
  int plies_ = 0;
};

static_assert(zerogames::PackedGame<Nim>);
