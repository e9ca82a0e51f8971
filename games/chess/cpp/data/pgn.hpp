#pragma once

#include <cctype>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../state.hpp"
#include "../uci.hpp"
#include "san.hpp"

namespace zerogames::chess {

/// One game of a PGN file.
struct PgnGame {
  std::vector<std::pair<std::string, std::string>> tags;  ///< bytes as in the file, unescaped
  std::string start;                                      ///< FEN, empty for the start position
  bool chess960 = false;
  std::vector<Action> actions;
  std::vector<float> values;  ///< win minus loss of the mover by its comment, NaN where unknown
  std::vector<std::pair<int, std::string>> comments;  ///< ply before it (-1: the start) and text
  std::optional<float> result;                        ///< White's view
  std::string reason;                                 ///< why it ended, if our rules ended it
  std::string error;  ///< what is wrong with it; then the rest is not to be used
  std::size_t offset = 0;

  std::string_view tag(std::string_view name) const {
    for (const auto& [key, value] : tags) {
      if (key == name) return value;
    }
    return {};
  }
};

/// What an engine wrote about a move: pawns or mate, as win minus loss of the mover.
/// Understands `wv=0.24` and `ev=0.24` (TCEC), `[%eval 0.24]` (Lichess), all in White's view, and
/// `+0.24/12` (cutechess), in the mover's.
class EngineValue {
 public:
  static float read(std::string_view comment, bool black_moved) {
    for (const std::string_view mark : {"wv=", "%eval ", "ev="}) {
      const auto at = comment.find(mark);
      if (at == comment.npos) continue;
      const float value = parse(comment.substr(at + mark.size()));
      return black_moved ? -value : value;
    }
    const auto first = comment.find_first_not_of(" \t\r\n");
    if (first == comment.npos || !std::strchr("+-0123456789", comment[first])) return kUnknown;
    const auto slash = comment.find('/', first);
    return slash != comment.npos && slash - first < 12 ? parse(comment.substr(first)) : kUnknown;
  }

 private:
  static constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();
  /// Share of points won as a function of centipawns, as Lichess fitted it.
  static constexpr float kSlope = 0.00368208F;

  static float parse(std::string_view text) {
    float sign = 1;
    std::size_t i = 0;
    bool mate = false;
    for (; i < text.size() && std::strchr("+-#M", text[i]); ++i) {
      if (text[i] == '-') sign = -1;
      if (text[i] == '#' || text[i] == 'M') mate = true;
    }
    float pawns = 0, digit = 1;
    bool any = false, fraction = false;
    for (; i < text.size() && i < 16; ++i) {
      if (text[i] == '.' && !fraction) {
        fraction = true;
      } else if (text[i] >= '0' && text[i] <= '9') {
        any = true;
        if (fraction) digit /= 10;
        pawns = fraction ? pawns + digit * static_cast<float>(text[i] - '0')
                         : 10 * pawns + static_cast<float>(text[i] - '0');
      } else {
        break;
      }
    }
    if (!any) return kUnknown;
    if (mate) return sign;
    return 2 / (1 + std::exp(-kSlope * 100 * sign * pawns)) - 1;
  }
};

/// What is read besides tags, moves and results.
struct PgnParts {
  bool values = false;    ///< evaluations in comments
  bool comments = false;  ///< the comments of the main line
};

/// Reads the main lines of the games in a piece of a PGN file. Nothing recurses; a broken game is
/// named by its error and the next one is read.
class PgnParser {
 public:
  static constexpr std::size_t kMaxPlies = 20'000;

  PgnParser(std::string_view data, PgnParts parts) : data_(data), parts_(parts) {}

  /// False at the end of the data.
  bool next(PgnGame& game) {
    skip_to_game();
    if (at_ == data_.size()) return false;
    game = PgnGame{};
    game.offset = at_;
    std::size_t resume = at_;
    try {
      read_tags(game);
      resume = at_;
      read_start(game);
      read_moves(game);
    } catch (const Error& error) {
      game.error = error.what();
      at_ = resume;  // a comment without end may have swallowed the games after this one
      skip_rest();
    }
    return true;
  }

 private:
  static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
  char peek() const { return at_ < data_.size() ? data_[at_] : '\0'; }
  bool line_start() const { return at_ == 0 || data_[at_ - 1] == '\n'; }
  void skip_line() {
    const auto end = data_.find('\n', at_);
    at_ = end == data_.npos ? data_.size() : end + 1;
  }

  void skip_to_game() {
    if (at_ == 0 && data_.starts_with("\xEF\xBB\xBF")) at_ = 3;
    while (at_ < data_.size()) {
      if (data_[at_] == '%' && line_start()) {
        skip_line();
      } else if (is_space(data_[at_])) {
        ++at_;
      } else {
        return;
      }
    }
  }

  /// After an error: on to the next first tag or tag that follows an empty line.
  void skip_rest() {
    while (at_ < data_.size()) {
      skip_line();
      if (peek() != '[') continue;
      if (data_.substr(at_).starts_with("[Event \"")) return;
      std::size_t before = at_;
      int newlines = 0;
      while (before > 0 && is_space(data_[before - 1])) newlines += data_[--before] == '\n';
      if (newlines >= 2) return;
    }
  }

  void read_tags(PgnGame& game) {
    while (peek() == '[') {
      ++at_;
      const std::size_t name = at_;
      while (std::isalnum(static_cast<unsigned char>(peek())) ||
             (peek() && std::strchr("_+#=:-", peek()))) {
        ++at_;
      }
      const std::string_view key = data_.substr(name, at_ - name);
      while (peek() == ' ' || peek() == '\t') ++at_;
      if (key.empty() || peek() != '"') throw Error("a tag is not written [Name \"value\"]");
      ++at_;
      std::string value;
      while (at_ < data_.size() && data_[at_] != '\n' && !ends_value(at_)) {
        if (is_escape()) ++at_;
        value += data_[at_++];
      }
      if (peek() != '"') throw Error("the value of tag " + std::string(key) + " does not end");
      game.tags.emplace_back(key, std::move(value));
      at_ = std::min(data_.find_first_of("]\n", at_), data_.size() - 1) + 1;
      skip_to_game();
      if (game.tags.size() > 1000) throw Error("more than 1000 tags");
    }
  }

  /// Whether a quotation mark here ends the value of a tag: one inside may lack its backslash.
  bool ends_value(std::size_t at) const {
    if (at >= data_.size() || data_[at] != '"') return false;
    while (++at < data_.size() && (data_[at] == ' ' || data_[at] == '\t')) {
    }
    return at == data_.size() || std::strchr("]\r\n", data_[at]);
  }

  /// Whether a backslash here escapes what follows; programs write lone ones too.
  bool is_escape() const {
    if (data_[at_] != '\\' || at_ + 1 == data_.size()) return false;
    return data_[at_ + 1] == '\\' || (data_[at_ + 1] == '"' && !ends_value(at_ + 1));
  }

  void read_start(PgnGame& game) {
    std::string variant;
    for (const char c : game.tag("Variant")) {
      if (std::isalnum(static_cast<unsigned char>(c))) {
        variant += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      }
    }
    game.chess960 = variant == "chess960" || variant == "fischerandom" ||
                    variant == "fischerrandom" || variant == "960" || variant == "freestyle";
    const bool standard = variant.empty() || variant == "standard" || variant == "chess" ||
                          variant == "normal" || variant == "fromposition";
    if (!game.chess960 && !standard) {
      throw Error("variant '" + std::string(game.tag("Variant").substr(0, 40)) +
                  "' is not chess or Chess960");
    }
    const std::string_view fen = game.tag("FEN");
    state_ = fen.empty() ? State(parse_fen(kStartFen, game.chess960))
                         : State::from_fen(fen, game.chess960);
    if (!fen.empty() || game.chess960) {
      game.start = format_fen(state_.board());
      if (!game.chess960 && game.start == kStartFen) game.start.clear();
    }
  }

  void read_moves(PgnGame& game) {
    // Our rules may have ended the game; what follows is only looked through.
    bool ended = state_.result().has_value(), cut = false;
    while (true) {
      while (is_space(peek()) && at_ < data_.size()) ++at_;
      if (at_ == data_.size()) break;
      const char c = data_[at_];
      if (c == '{') {
        cut ? skip_comment() : read_comment(game, ended);
      } else if (c == ';' || (c == '%' && line_start())) {
        skip_line();
      } else if (c == '(') {
        skip_variation();
      } else if (c == '[' && line_start()) {
        break;  // the next game; this one's result token is missing
      } else if (read_result(game)) {
        read_after_result(game, cut);
        break;
      } else if (c == '$' || c == '!' || c == '?') {
        skip_token();
      } else if (c == ')' || c == '}' || c == ']' || c == '[' || c == '<' || c == '>') {
        throw Error(std::string("unexpected '") + c + "' after move " +
                    std::to_string(game.actions.size()));
      } else if (is_number()) {
        while ((peek() >= '0' && peek() <= '9') || peek() == '.') ++at_;
      } else {
        const std::string_view token = read_token();
        if (token == "e.p." || token == "ep") continue;
        if ((cut = ended)) continue;
        play(game, token);
        ended = state_.result().has_value();
      }
    }
    finish(game, ended);
  }

  bool is_number() const {
    const char c = data_[at_];
    if (c < '0' || c > '9') return c == '.';
    const std::string_view rest = data_.substr(at_);
    return !rest.starts_with("0-0") && !rest.starts_with("0000");  // castling, and no move
  }

  /// Takes a result if there is one here; it counts where the tags tell none.
  bool read_result(PgnGame& game) {
    for (const auto& [text, result] : kResults) {
      if (!data_.substr(at_).starts_with(text)) continue;
      at_ += text.size();
      game.result = result;
      return true;
    }
    return false;
  }

  /// What people and programs write behind a result belongs to the game that is over: comments,
  /// the result once more, words up to the end of the line. A move number begins another game.
  void read_after_result(PgnGame& game, bool cut) {
    bool same_line = true;
    while (at_ < data_.size()) {
      const char c = data_[at_];
      if (is_space(c)) {
        same_line = same_line && c != '\n';
        ++at_;
      } else if (c == '{' && data_.find('}', at_) != data_.npos) {
        cut ? skip_comment() : read_comment(game, true);
      } else if (c == ';' || c == '{' || (c == '%' && line_start())) {
        skip_line();
        same_line = false;
      } else if (c == '$' || (same_line && c != '[' && !is_number())) {
        skip_token();
      } else if (PgnGame other; !read_result(other)) {
        return;
      }
    }
  }

  std::string_view read_token() {
    const std::size_t first = at_;
    skip_token();
    return data_.substr(first, at_ - first);
  }
  void skip_token() {
    if (at_ < data_.size()) ++at_;
    while (at_ < data_.size() && !is_space(data_[at_]) && !std::strchr("{}();[]$!?*", data_[at_])) {
      ++at_;
    }
  }

  /// A move as people and programs write it: SAN, also with `e.p.`, or UCI's squares.
  static Action parse_move(const State& state, std::string_view token) {
    while (!token.empty() && std::strchr("+#", token.back())) token.remove_suffix(1);
    for (const std::string_view mark : {"e.p.", "ep"}) {
      if (token.ends_with(mark)) token.remove_suffix(mark.size());
    }
    const Action action = parse_san(state, token);
    if (action != kNoAction) return action;
    try {
      return action_of(parse_uci(state.board(), state.checks(), token));
    } catch (const Error&) {
      return kNoAction;
    }
  }

  void play(PgnGame& game, std::string_view token) {
    if (game.actions.size() >= kMaxPlies) throw Error("more than 20000 moves");
    const Action action = parse_move(state_, token);
    if (action == kNoAction) {
      const bool null = token == "--" || token == "Z0" || token == "0000" || token == "null";
      throw Error("move " + std::to_string(state_.board().fullmove) +
                  (state_.board().black_to_move ? "... " : ". ") + chess::detail::quote(token) +
                  (null ? " passes: this is an analysis, no game" : " is not legal here"));
    }
    game.actions.push_back(action);
    if (parts_.values) game.values.push_back(std::numeric_limits<float>::quiet_NaN());
    state_.play(action);
  }

  void read_comment(PgnGame& game, bool ended) {
    const std::size_t first = at_ + 1;
    skip_comment();
    const std::string_view text = data_.substr(first, at_ - 1 - first);
    if (parts_.comments) {
      game.comments.emplace_back(static_cast<int>(game.actions.size()) - 1, text);
    }
    if (ended || game.values.empty()) return;
    const float value = EngineValue::read(text, state_.to_play() == 0);
    if (!std::isnan(value)) game.values.back() = value;
  }

  void skip_comment() {
    const auto end = data_.find('}', at_);
    if (end == data_.npos) throw Error("a comment does not end");
    at_ = end + 1;
  }

  void skip_variation() {
    std::size_t depth = 0;
    while (at_ < data_.size()) {
      const char c = data_[at_];
      if (c == '{') {
        skip_comment();
        continue;
      }
      if (c == ';') {
        skip_line();
        continue;
      }
      if (c == '(') {
        ++depth;
      } else if (c == ')') {
        if (--depth == 0) {
          ++at_;
          return;
        }
      }
      ++at_;
    }
    throw Error("a variation does not end");
  }

  void finish(PgnGame& game, bool ended) {
    if (ended) {
      game.result = state_.result();
      game.reason = state_.end_reason();
      return;
    }
    game.reason = game.tag("Termination");
    for (const auto& [text, result] : kResults) {
      if (result && game.tag("Result") == text) game.result = result;
    }
  }

  static constexpr std::pair<std::string_view, std::optional<float>> kResults[] = {
      {"1-0", 1.0F}, {"0-1", -1.0F}, {"1/2-1/2", 0.0F}, {"1/2", 0.0F}, {"*", std::nullopt}};

  std::string_view data_;
  PgnParts parts_;
  std::size_t at_ = 0;
  State state_;
};

}  // namespace zerogames::chess
