#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "zerogames/error.hpp"

namespace zerogames::go {

/// A property of a node; values are as in the file, with their escapes.
struct SgfProperty {
  std::string name;  ///< upper-case letters only
  std::size_t first_value;
  std::size_t num_values;
};

/// The nodes from the root of a game tree to a leaf.
struct SgfLine {
  std::vector<SgfProperty> properties;
  std::vector<std::string_view> values;
  std::vector<std::size_t> nodes;  ///< the first property of each node

  std::size_t node_end(std::size_t node) const {
    return node + 1 < nodes.size() ? nodes[node + 1] : properties.size();
  }
};

/// Splits a collection of game trees into lines: the main line of every tree, or all of them.
///
/// Nothing here recurses and no tree is built, so hostile nesting costs one number per level; the
/// length of a line is limited. `data` must outlive the parser and its lines.
class SgfParser {
 public:
  static constexpr std::size_t kMaxNodes = 100'000;
  static constexpr std::size_t kMaxValues = 1'000'000;

  explicit SgfParser(std::string_view data, bool all_lines = false)
      : data_(data), all_lines_(all_lines) {}

  /// Moves to the next line; false at the end of the data. Throws Error for a broken tree, after
  /// which the next call continues with the next tree.
  bool next(SgfLine& line) {
    if (broken_) recover();
    while (!stack_.empty() || find_tree()) {
      broken_ = true;
      const bool found = read_line(line);
      broken_ = false;
      if (found) return true;
    }
    return false;
  }

  /// Trees met so far.
  int tree() const { return tree_; }
  /// The start of the current tree.
  std::size_t offset() const { return tree_start_; }

 private:
  static constexpr std::size_t kMaxRoot = 200;

  struct Branch {
    std::size_t nodes, properties, values;
  };

  static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f' || c == '\0';
  }
  static bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
  static bool is_lower(char c) { return c >= 'a' && c <= 'z'; }

  void skip_space() {
    while (position_ < data_.size() && is_space(data_[position_])) ++position_;
  }

  /// Any text may stand before a tree.
  bool find_tree() {
    while ((position_ = data_.find('(', position_)) != std::string_view::npos) {
      const std::size_t start = position_++;
      skip_space();
      if (position_ < data_.size() && data_[position_] == ';') {
        position_ = tree_start_ = start;
        ++tree_;
        return true;
      }
    }
    position_ = data_.size();
    return false;
  }

  /// After an error: on to what looks like the root of another game.
  void recover() {
    broken_ = false;
    stack_.clear();
    while (find_tree()) {
      const std::size_t end = data_.find_first_of(";)", data_.find(';', position_) + 1);
      const std::string_view node = data_.substr(position_, std::min(end - position_, kMaxRoot));
      if (node.find("GM[") != node.npos || node.find("FF[") != node.npos ||
          node.find("SZ[") != node.npos) {
        --tree_;
        return;
      }
      --tree_;
      ++position_;
    }
  }

  /// False when the tree ends without another line.
  bool read_line(SgfLine& line) {
    if (stack_.empty()) {
      line_.nodes.clear();
      line_.properties.clear();
      line_.values.clear();
    }
    bool leaf = false;  // whether nodes were read since the last branch was left
    while (true) {
      skip_space();
      if (position_ == data_.size()) throw Error("the data end inside the game");
      const char c = data_[position_];
      if (c == '(') {
        ++position_;
        stack_.push_back({line_.nodes.size(), line_.properties.size(), line_.values.size()});
      } else if (c == ')') {
        ++position_;
        if (leaf) {
          if (all_lines_) {
            line = line_;
            leave_branch();
          } else {
            std::swap(line, line_);
            skip_tree();
          }
          return true;
        }
        leave_branch();
        if (stack_.empty()) return false;
      } else if (c == ';') {
        ++position_;
        if (line_.nodes.size() >= kMaxNodes) throw Error("a line has more than 100000 nodes");
        line_.nodes.push_back(line_.properties.size());
        leaf = true;
      } else if (is_upper(c) || is_lower(c)) {
        if (!leaf) throw Error(at("a property stands outside a node"));
        read_property();
      } else {
        throw Error(at("unexpected " + describe(c)));
      }
    }
  }

  void leave_branch() {
    line_.nodes.resize(stack_.back().nodes);
    line_.properties.resize(stack_.back().properties);
    line_.values.resize(stack_.back().values);
    stack_.pop_back();
  }

  /// The main line has ended: skips its side variations.
  void skip_tree() {
    std::size_t depth = stack_.size() - 1;
    stack_.clear();
    while (depth > 0) {
      if (position_ == data_.size()) throw Error("the data end inside the game");
      const char c = data_[position_++];
      if (c == '(') ++depth;
      if (c == ')') --depth;
      if (c == '[') read_value();
    }
  }

  void read_property() {
    std::string name;
    for (; position_ < data_.size(); ++position_) {
      const char c = data_[position_];
      if (is_upper(c)) {
        name += c;
      } else if (!is_lower(c)) {  // old files write "AddBlack": lower case does not count
        break;
      }
      if (name.size() > 32) throw Error(at("a property name is too long"));
    }
    SgfProperty property{std::move(name), line_.values.size(), 0};
    skip_space();
    while (position_ < data_.size() && data_[position_] == '[') {
      ++position_;
      line_.values.push_back(read_value());
      if (line_.values.size() > kMaxValues) throw Error("a line has more than 1000000 values");
      ++property.num_values;
      skip_space();
    }
    if (property.num_values == 0) throw Error(at("property " + property.name + " has no value"));
    line_.properties.push_back(std::move(property));
  }

  /// Up to the closing bracket; the opening one is behind.
  std::string_view read_value() {
    const std::size_t start = position_;
    for (; position_ < data_.size(); ++position_) {
      const char c = data_[position_];
      if (c == '\\') {
        ++position_;
      } else if (c == ']') {
        return data_.substr(start, position_++ - start);
      }
    }
    position_ = data_.size();
    throw Error("a value is not closed at the end of the data");
  }

  static std::string describe(char c) {
    if (c > ' ' && c < '\x7F') return std::string("'") + c + "'";
    return "byte " + std::to_string(static_cast<unsigned char>(c));
  }
  std::string at(const std::string& what) const {
    return what + " at byte " + std::to_string(position_);
  }

  std::string_view data_;
  bool all_lines_;
  std::size_t position_ = 0;
  std::size_t tree_start_ = 0;
  int tree_ = 0;
  bool broken_ = false;  ///< the last tree could not be read to its end
  SgfLine line_;
  std::vector<Branch> stack_;
};

/// The text of a value: escapes and soft line breaks undone, other white space as blanks but for
/// line breaks.
inline std::string sgf_text(std::string_view value) {
  std::string text;
  text.reserve(value.size());
  for (std::size_t i = 0; i < value.size(); ++i) {
    const auto is_break = [&](std::size_t j) { return value[j] == '\n' || value[j] == '\r'; };
    // A line break is one or two characters: LF, CR, LF CR or CR LF.
    const auto skip_pair = [&] {
      if (i + 1 < value.size() && is_break(i + 1) && value[i + 1] != value[i]) ++i;
    };
    if (value[i] == '\\') {
      if (++i == value.size()) break;
      if (is_break(i)) {
        skip_pair();
        continue;
      }
      text += value[i];
    } else if (is_break(i)) {
      skip_pair();
      text += '\n';
    } else {
      text += value[i] == '\t' || value[i] == '\v' || value[i] == '\f' ? ' ' : value[i];
    }
  }
  return text;
}

}  // namespace zerogames::go
