#pragma once

#include <charconv>
#include <initializer_list>
#include <string>
#include <string_view>

#include "ladder.hpp"
#include "zerogames/error.hpp"

namespace zerogames::go {

/// How to turn a state into planes; from text such as "golois-21:history=repeat,ladder-nodes=100".
struct Encoding {
  enum class Planes {
    kGolois21,  ///< turn, ladders, liberties, five boards
    kLeela18,   ///< eight boards of each side, two planes of turn
    kKataGoV7,  ///< KataGo's input features of version 7: 22 planes, 19 numbers
  };
  /// What White gets for a handicap of two stones or more.
  enum class Bonus { kNone, kStones, kStonesButOne };
  static constexpr int kMostPrevious = 7;  ///< boards before the current one

  Planes planes = Planes::kGolois21;
  bool repeat_history = false;  ///< show the first board instead of nothing before the start
  LadderLimits ladder;

  /// KataGo: hide the history wherever a pass would end the game.
  bool conservative_pass = false;
  /// KataGo: the planes of area as if suicide were legal, whatever the rules.
  bool pass_alive_suicide = false;
  Bonus handicap_bonus = Bonus::kNone;

  int num_planes() const { return sizes().planes; }
  int num_constants() const { return sizes().constants; }
  int num_previous() const { return planes == Planes::kGolois21 ? 4 : 7; }
  static constexpr int kMostBitPlanes = 22;
  static constexpr int kMostConstants = 19;

  static Encoding parse(std::string_view text) {
    Encoding encoding;
    const std::string_view name = text.substr(0, text.find(':'));
    if (name == "golois-21") {
      encoding.planes = Planes::kGolois21;
    } else if (name == "leela-18") {
      encoding.planes = Planes::kLeela18;
    } else if (name == "katago-v7") {
      encoding.planes = Planes::kKataGoV7;
    } else {
      throw Error("go has no encoding '" + std::string(name) +
                  "'; known: golois-21, leela-18, katago-v7");
    }
    std::string_view rest = text.substr(std::min(text.size(), name.size() + 1));
    while (!rest.empty()) {
      const std::string_view option = rest.substr(0, rest.find(','));
      rest = rest.substr(std::min(rest.size(), option.size() + 1));
      const std::size_t equals = std::min(option.find('='), option.size());
      encoding.set(option.substr(0, equals), option.substr(std::min(option.size(), equals + 1)));
    }
    return encoding;
  }

 private:
  struct Sizes {
    int planes;
    int constants;
  };
  Sizes sizes() const {
    switch (planes) {
      case Planes::kGolois21:
        return {21, 0};
      case Planes::kLeela18:
        return {18, 2};
      case Planes::kKataGoV7:
        break;
    }
    return {kMostBitPlanes + kMostConstants, kMostConstants};
  }

  void set(std::string_view key, std::string_view value) {
    if (planes == Planes::kKataGoV7) return set_katago(key, value);
    const bool ladders = planes == Planes::kGolois21;
    if (key == "history") {
      repeat_history = choose(key, value, {"zero", "repeat"}) == 1;
    } else if (ladders && key == "ladder-nodes") {
      ladder.nodes = number(key, value);
    } else if (ladders && key == "ladder-depth") {
      ladder.depth = number(key, value);
    } else {
      throw Error("this encoding has no option '" + std::string(key) + "'; known: history" +
                  (ladders ? ", ladder-nodes, ladder-depth" : ""));
    }
  }
  void set_katago(std::string_view key, std::string_view value) {
    if (key == "conservative-pass") {
      conservative_pass = choose(key, value, {"off", "on"}) == 1;
    } else if (key == "pass-alive") {
      pass_alive_suicide = choose(key, value, {"rules", "suicide"}) == 1;
    } else if (key == "handicap-bonus") {
      handicap_bonus = static_cast<Bonus>(choose(key, value, {"none", "stones", "stones-1"}));
    } else {
      throw Error("this encoding has no option '" + std::string(key) +
                  "'; known: conservative-pass, pass-alive, handicap-bonus");
    }
  }
  /// The index of `value` among the values that the option may have.
  static int choose(std::string_view key, std::string_view value,
                    std::initializer_list<std::string_view> known) {
    std::string names;
    for (const std::string_view* name = known.begin(); name != known.end(); ++name) {
      if (value == *name) return static_cast<int>(name - known.begin());
      names += (name == known.begin() ? "" : " or ") + std::string(*name);
    }
    throw Error(std::string(key) + " is " + names + ", not '" + std::string(value) + "'");
  }
  static int number(std::string_view key, std::string_view value) {
    int parsed = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), parsed);
    if (error != std::errc() || end != value.data() + value.size() || parsed < 1) {
      throw Error(std::string(key) + " is a number from 1 on, not '" + std::string(value) + "'");
    }
    return parsed;
  }
};

}  // namespace zerogames::go
