#pragma once

#include <algorithm>
#include <charconv>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sgf.hpp"
#include "state.hpp"

namespace zerogames::go {

/// One line of an SGF tree read as a game of Go: set-up, then moves.
class SgfGame {
 public:
  struct Move {
    Colour player;
    Action action;
  };

  /// Throws Error if the line is no game: another game, bad points, set-up stones between moves.
  explicit SgfGame(const SgfLine& line) {
    read_root(line);
    board_.assign(area(), kEmpty);
    bool turn_given = false;
    for (std::size_t node = 0; node < line.nodes.size(); ++node) {
      for (std::size_t i = line.nodes[node]; i < line.node_end(node); ++i) {
        const SgfProperty& property = line.properties[i];
        const std::string_view first = line.values[property.first_value];
        const std::string& name = property.name;
        if (name == "B" || name == "W") {
          moves_.push_back({name == "B" ? kBlack : kWhite, parse_move(first)});
        } else if (name == "AB" || name == "AW" || name == "AE") {
          need_no_move("set-up stones stand");
          const Colour colour = name == "AB" ? kBlack : name == "AW" ? kWhite : kEmpty;
          for (std::size_t v = 0; v < property.num_values; ++v) {
            for_each_point(line.values[property.first_value + v],
                           [&](Point point) { board_[point] = colour; });
          }
        } else if (name == "PL") {
          if (!moves_.empty()) continue;  // the colours of the moves tell
          if (first.empty() ||
              std::string_view("BbWw12").find(first[0]) == std::string_view::npos) {
            throw Error("PL is B or W, not '" + std::string(first.substr(0, 20)) + "'");
          }
          to_play_ = first[0] == 'B' || first[0] == 'b' || first[0] == '1' ? kBlack : kWhite;
          turn_given = true;
        } else if (name == "XP") {
          need_no_move("XP stands");
          if (first != "0" && first != "1" && first != "2") throw Error("XP is 0, 1 or 2");
          passes_ = first[0] - '0';
        } else if (name == "XK") {
          need_no_move("XK stands");
          for (std::size_t v = 0; v < property.num_values; ++v) {
            for_each_point(line.values[property.first_value + v],
                           [&](Point point) { banned_.push_back(point); });
          }
        } else if (name == "C") {
          const int ply = static_cast<int>(moves_.size()) - 1;
          comments_.emplace_back(ply, sgf_text(first));
        }
      }
    }
    place_handicap();
    if (!turn_given) to_play_ = first_to_play();
  }

  int size() const { return size_; }
  /// Properties of the root that are not stones, moves or comments; the text of the first value.
  const std::vector<std::pair<std::string, std::string>>& tags() const { return tags_; }
  std::string tag(std::string_view name) const {
    for (const auto& [key, value] : tags_) {
      if (key == name) return value;
    }
    return {};
  }
  const std::vector<std::pair<int, std::string>>& comments() const { return comments_; }
  const std::vector<Move>& moves() const { return moves_; }

  bool starts_empty() const {
    return to_play_ == kBlack && passes_ == 0 && banned_.empty() &&
           std::ranges::all_of(board_, [](Colour colour) { return colour == kEmpty; });
  }

  State start(const Rules& rules) const {
    std::vector<Point> stones[2];
    for (int point = 0; point < area(); ++point) {
      if (board_[point] != kEmpty) stones[board_[point]].push_back(static_cast<Point>(point));
    }
    State state = State::from_stones(size_, rules, stones[kBlack], stones[kWhite], to_play_);
    state.continue_from(passes_, banned_);
    return state;
  }

  /// Plays all moves but a third pass at the end and what follows, which some servers write; throws
  /// Error that names the first move that is not legal.
  State replay(State state, std::vector<Action>& actions) const {
    actions.clear();
    std::size_t count = moves_.size();
    while (count > 2 && is_pass(count - 1) && is_pass(count - 2) && is_pass(count - 3)) --count;
    for (const auto& [player, action] : std::span(moves_).first(count)) {
      if (state.is_over())
        fail("comes after the end of the game (" + std::string(state.end_reason()) + ")",
             actions.size());
      if (player != state.to_play()) fail("is out of turn", actions.size());
      if (!state.is_legal(action))
        fail("is not legal: " + why_illegal(state, action), actions.size());
      state.play(action);
      actions.push_back(action);
    }
    return state;
  }

 private:
  int area() const { return size_ * size_; }
  bool is_pass(std::size_t ply) const { return moves_[ply].action == area(); }

  void read_root(const SgfLine& line) {
    for (std::size_t i = line.nodes.at(0); i < line.node_end(0); ++i) {
      const SgfProperty& property = line.properties[i];
      const std::string& name = property.name;
      if (name == "B" || name == "W" || name == "AB" || name == "AW" || name == "AE" ||
          name == "PL" || name == "C" || name == "XK" || name == "XP") {
        continue;
      }
      tags_.emplace_back(name, sgf_text(line.values[property.first_value]));
    }
    const std::string game = tag("GM");
    if (!game.empty() && trimmed(game) != "1")
      throw Error("GM[" + game.substr(0, 20) + "] is not Go");
    const std::string text = tag("SZ");
    const std::string_view size = trimmed(text);
    if (size.empty()) return;
    const std::size_t colon = std::min(size.find(':'), size.size());
    size_ = parse_size(size.substr(0, colon));
    if (colon < size.size() && parse_size(size.substr(colon + 1)) != size_) {
      throw Error("the board SZ[" + text.substr(0, 20) + "] is not square");
    }
  }

  static std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \n\r\t");
    if (first == text.npos) return {};
    return text.substr(first, text.find_last_not_of(" \n\r\t") - first + 1);
  }
  static int parse_size(std::string_view text) {
    int size = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    if (error != std::errc() || end != text.data() + text.size()) {
      throw Error("SZ[" + std::string(text.substr(0, 20)) + "] is not a size");
    }
    check_size(size);
    return size;
  }

  Point parse_point(std::string_view text) const {
    if (text.size() == 2) {
      const int column = text[0] - 'a', row_from_top = text[1] - 'a';
      if (column >= 0 && column < size_ && row_from_top >= 0 && row_from_top < size_) {
        return static_cast<Point>((size_ - 1 - row_from_top) * size_ + column);
      }
    }
    throw Error("'" + std::string(text.substr(0, 20)) + "' is not a point of this board");
  }
  /// A point, or a rectangle of points by two corners.
  template <class Visit>
  void for_each_point(std::string_view value, Visit visit) const {
    const std::string_view text = trimmed(value);
    const std::size_t colon = std::min(text.find(':'), text.size());
    const Point a = parse_point(text.substr(0, colon));
    const Point b = colon == text.size() ? a : parse_point(text.substr(colon + 1));
    const auto [bottom, top] = std::minmax({a / size_, b / size_});
    const auto [left, right] = std::minmax({a % size_, b % size_});
    for (int row = bottom; row <= top; ++row) {
      for (int column = left; column <= right; ++column) {
        visit(static_cast<Point>(row * size_ + column));
      }
    }
  }
  Action parse_move(std::string_view value) const {
    const std::string_view text = trimmed(value);
    if (text.empty() || (text == "tt" && size_ <= 19)) return area();
    return parse_point(text);
  }

  void need_no_move(const char* what) const {
    if (!moves_.empty()) {
      throw Error(std::string(what) + " after move " + std::to_string(moves_.size()));
    }
  }

  /// Some files tell the number of handicap stones only, or play them as moves of Black.
  void place_handicap() {
    int stones = 0;
    const std::string text = tag("HA");
    const std::string_view number = trimmed(text);
    std::from_chars(number.data(), number.data() + number.size(), stones);
    const bool has_setup =
        std::ranges::any_of(board_, [](Colour colour) { return colour != kEmpty; });
    if (stones < 2 || has_setup || moves_.empty()) return;
    if (moves_[0].player == kWhite) {
      for (const Point point : fixed_handicap(size_, stones)) board_[point] = kBlack;
      return;
    }
    const auto placed = static_cast<std::size_t>(stones);
    if (moves_.size() < placed) return;
    for (std::size_t i = 0; i < placed; ++i) {
      if (moves_[i].player != kBlack || moves_[i].action == area()) return;
    }
    for (std::size_t i = 0; i < placed; ++i) board_[moves_[i].action] = kBlack;
    moves_.erase(moves_.begin(), moves_.begin() + static_cast<std::ptrdiff_t>(placed));
    for (auto& [ply, comment] : comments_) ply = std::max(-1, ply - stones);
  }

  Colour first_to_play() const {
    if (!moves_.empty()) return moves_[0].player;
    const bool black_only =
        std::ranges::count(board_, kBlack) >= 2 && std::ranges::count(board_, kWhite) == 0;
    return black_only ? kWhite : kBlack;
  }

  [[noreturn]] void fail(const std::string& why, std::size_t ply) const {
    const auto& [player, action] = moves_[ply];
    throw Error("move " + std::to_string(ply + 1) + " (" + (player == kBlack ? "B " : "W ") +
                point_text(action) + ") " + why);
  }
  std::string point_text(Action action) const {
    if (action == area()) return "pass";
    const int column = action % size_;
    return static_cast<char>('A' + column + (column >= 8)) + std::to_string(action / size_ + 1);
  }
  static std::string why_illegal(const State& state, Action action) {
    const auto point = static_cast<Point>(action);
    const Board& board = state.board();
    if (board.colour(point) != kEmpty) return "a stone is there";
    const auto player = static_cast<Colour>(state.to_play());
    const bool forbidden = board.effect(point, player).suicide() && !state.rules().suicide;
    return forbidden ? "suicide" : "ko";
  }

  int size_ = 19;
  Colour to_play_ = kBlack;
  std::vector<Colour> board_;
  int passes_ = 0;
  std::vector<Point> banned_;
  std::vector<Move> moves_;
  std::vector<std::pair<std::string, std::string>> tags_;
  std::vector<std::pair<int, std::string>> comments_;
};

inline std::string sgf_point(int size, Action action) {
  if (action == size * size) return {};
  return {static_cast<char>('a' + action % size),
          static_cast<char>('a' + size - 1 - action / size)};
}

/// A position on one line: size, komi, stones, side to move, and two private properties: XK, the
/// points that a ko forbids now, and XP, the number of passes just played.
inline std::string state_to_sgf(const State& state) {
  const int size = state.size();
  char komi[32];
  const auto [end, error] = std::to_chars(komi, komi + sizeof(komi), state.rules().komi);
  std::string text = "(;GM[1]FF[4]SZ[" + std::to_string(size) + "]KM[" +
                     std::string(komi, error == std::errc() ? end : komi) + "]";
  const auto list = [&](const char* name, const Points& points) {
    if (points.any()) text += name;
    points.for_each(
        [&](Point point) { text.append("[").append(sgf_point(size, point)).append("]"); });
  };
  list("AB", state.board().stones(kBlack));
  list("AW", state.board().stones(kWhite));
  text += state.to_play() == kBlack ? "PL[B]" : "PL[W]";
  list("XK", state.banned_by_history());
  if (state.passes() > 0) text += "XP[" + std::to_string(state.passes()) + "]";
  return text + ")";
}

/// A position from an SGF tree: its set-up and the moves of its main line.
inline State state_from_sgf(int size, Rules rules, std::string_view text) {
  SgfParser parser(text);
  SgfLine line, more;
  if (!parser.next(line)) throw Error("a position is written as SGF, e.g. (;SZ[9]AB[ee]PL[W])");
  if (parser.next(more)) throw Error("a position is one SGF tree, here are more");
  const SgfGame game(line);
  if (game.size() != size) {
    throw Error("the position is for size " + std::to_string(game.size()) + ", the game for size " +
                std::to_string(size));
  }
  if (const std::string komi = game.tag("KM"); !komi.empty()) {
    const auto [end, error] = std::from_chars(komi.data(), komi.data() + komi.size(), rules.komi);
    if (error != std::errc() || end != komi.data() + komi.size()) {
      throw Error("KM[" + komi.substr(0, 20) + "] is not a komi");
    }
  }
  std::vector<Action> actions;
  return game.replay(game.start(rules), actions);
}

}  // namespace zerogames::go
