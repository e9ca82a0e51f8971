#pragma once

#include <charconv>
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
  };
  static constexpr int kMostPrevious = 7;  ///< boards before the current one

  Planes planes = Planes::kGolois21;
  bool repeat_history = false;  ///< show the first board instead of nothing before the start
  LadderLimits ladder;

  int num_planes() const { return planes == Planes::kGolois21 ? 21 : 18; }
  int num_constants() const { return planes == Planes::kGolois21 ? 0 : 2; }
  int num_previous() const { return planes == Planes::kGolois21 ? 4 : 7; }

  static Encoding parse(std::string_view text) {
    Encoding encoding;
    const std::string_view name = text.substr(0, text.find(':'));
    if (name == "golois-21") {
      encoding.planes = Planes::kGolois21;
    } else if (name == "leela-18") {
      encoding.planes = Planes::kLeela18;
    } else {
      throw Error("go has no encoding '" + std::string(name) + "'; known: golois-21, leela-18");
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
  void set(std::string_view key, std::string_view value) {
    const bool ladders = planes == Planes::kGolois21;
    if (key == "history" && (value == "zero" || value == "repeat")) {
      repeat_history = value == "repeat";
    } else if (key == "history") {
      throw Error("history is zero or repeat, not '" + std::string(value) + "'");
    } else if (ladders && key == "ladder-nodes") {
      ladder.nodes = number(key, value);
    } else if (ladders && key == "ladder-depth") {
      ladder.depth = number(key, value);
    } else {
      throw Error("this encoding has no option '" + std::string(key) + "'; known: history" +
                  (ladders ? ", ladder-nodes, ladder-depth" : ""));
    }
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
