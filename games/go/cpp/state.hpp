#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "board.hpp"
#include "encoding.hpp"
#include "history.hpp"
#include "katago_encoder.hpp"
#include "life.hpp"
#include "rules.hpp"
#include "scoring.hpp"
#include "zerogames/game.hpp"

namespace zerogames::go {

/// A position of Go with its game. Actions are points; the last one, size * size, passes.
/// Two passes or `Rules::max_plies` end the game; then the area decides.
class State {
 public:
  using Encoding = go::Encoding;
  static Encoding parse_encoding(std::string_view text) { return Encoding::parse(text); }

  explicit State(int size, const Rules& rules = {})
      : State((check_size(size), Board(size)), kBlack, rules) {}

  /// A position with stones and nothing before it.
  static State from_stones(int size, const Rules& rules, std::span<const Point> black,
                           std::span<const Point> white, Colour to_play) {
    check_size(size);
    Board board(size);
    Placement done;
    for (const Colour player : {kBlack, kWhite}) {
      for (const Point point : player == kBlack ? black : white) {
        if (board.colour(point) != kEmpty) throw Error("two stones stand on one point");
        board.add_stone(point, player, done);
      }
    }
    for (const Colour player : {kBlack, kWhite}) {
      board.stones(player).for_each([&](Point point) {
        if (!board.has_liberty(board.head(point))) throw Error("a chain has no liberty");
      });
    }
    return State(board, to_play, rules);
  }

  /// For a position from a game that this state does not know: how many passes have just been
  /// played, and which points a ko forbids to the side to move.
  void continue_from(int passes, std::span<const Point> banned) {
    passes_ = passes;
    for (const Point point : banned) {
      if (board_.colour(point) != kEmpty) throw Error("a ko forbids empty points only");
      banned_at_start_.set(point);
    }
  }

  int size() const { return board_.size(); }
  const Board& board() const { return board_; }
  const Rules& rules() const { return rules_; }
  int action_size() const { return board_.area() + 1; }
  int to_play() const { return to_play_; }
  int plies() const { return history_.plies(); }
  /// Consecutive passes just played.
  int passes() const { return passes_; }
  bool is_over() const { return passes_ >= 2 || plies() >= rules_.max_plies; }

  void legal_actions(std::vector<Action>& actions) const;
  /// The legal actions but the pass, before the end.
  Points legal_points() const;
  bool is_legal(Action action) const {
    if (is_over()) return false;
    if (action == board_.area()) return true;
    const auto point = static_cast<Point>(action);
    if (board_.colour(point) != kEmpty) return false;
    const Board::Effect effect = board_.effect(point, to_play_);
    return (!effect.suicide() || rules_.suicide) && !is_banned(point, effect);
  }
  /// Points that only the ko rule forbids.
  Points banned() const;
  /// Those of them that one cannot tell from the board: a stone that would be taken away at once,
  /// alone, never changes the board.
  Points banned_by_history() const {
    return rules_.ko == Ko::kPositional ? banned_by_repetition() : banned();
  }
  /// Those of the banned points where the stone would not die at once, alone.
  Points banned_by_repetition() const {
    Points found = banned();
    const Points beside = board_.geometry().around(board_.stones(to_play_) | board_.empty());
    const Points alone = found - beside;
    alone.for_each([&](Point point) {
      if (board_.effect(point, to_play_).suicide()) found.reset(point);
    });
    return found;
  }
  void play(Action action);
  /// Continues with `player` to move, also after the end by passes, as the game's referee may say.
  /// A change of turn counts as a ply in which nothing happened, but not as a pass.
  void give_turn_to(Colour player) {
    if (player != to_play_) {
      history_.change_turn(board_.hash());
      ko_ = kNoPoint;
      to_play_ = player;
      count_handicap();
    }
    passes_ = 0;
  }
  /// Legal points that neither fill an own eye nor take away the own last liberty.
  Points sensible_points() const;

  std::optional<float> result() const {
    if (!is_over()) return std::nullopt;
    const float lead = score();
    return lead > 0 ? 1.0F : lead < 0 ? -1.0F : 0.0F;
  }
  std::string_view end_reason() const {
    return passes_ >= 2 ? "two passes" : is_over() ? "move limit" : "";
  }
  /// Black's area less White's and the komi, of the board as it stands.
  float score() const { return static_cast<float>(area(board_).lead()) - rules_.komi; }

  /// The board; with the side to move or the simple ko where the rule of repetition looks at them.
  std::uint64_t position_key() const {
    switch (rules_.ko) {
      case Ko::kPositional:
        return board_.hash();
      case Ko::kSituational:
        return hash_combine(board_.hash(), to_play_);
      case Ko::kSimple:
        return hash_combine(hash_combine(board_.hash(), to_play_), ko_);
    }
    return 0;
  }
  /// The boards that encoders show, the turn, the komi, and what the ko rule forbids.
  std::uint64_t observation_key() const {
    std::uint64_t key = hash_combine(board_.hash(), to_play_);
    const int previous = std::min(plies(), Encoding::kMostPrevious);
    for (int ago = 1; ago <= previous; ++ago) key = hash_combine(key, history_.hash_before(ago));
    key = hash_combine(key, std::bit_cast<std::uint32_t>(rules_.komi));
    const Points forbidden = banned();
    forbidden.for_each([&](Point point) { key = hash_combine(key, point); });
    key = hash_combine(key, KataGoHistory(katago_position(forbidden)).key());
    key = hash_combine(key, handicap_);
    return hash_combine(key, previous);
  }

  Shape observation_shape(const Encoding& encoding) const {
    return {encoding.num_planes(), size(), size()};
  }
  void pack(const Encoding& encoding, PackedPlanes& packed) const {
    const int words = words_per_plane(board_.area());
    packed.bits.resize((encoding.num_planes() - encoding.num_constants()) * words);
    packed.constants.resize(encoding.num_constants());
    encode(encoding, packed.bits, packed.constants);
  }
  void observe(const Encoding& encoding, std::span<float> planes) const {
    std::array<std::uint64_t, Encoding::kMostBitPlanes * Points::kWords> bits;
    std::array<float, Encoding::kMostConstants> constants;
    const int words = words_per_plane(board_.area());
    const std::span used =
        std::span(bits).first((encoding.num_planes() - encoding.num_constants()) * words);
    const std::span constant = std::span(constants).first(encoding.num_constants());
    encode(encoding, used, constant);
    unpack_planes(used, constant, board_.area(), planes);
  }

  Ladders ladders(const LadderLimits& limits) const { return LadderReader(board_, limits).read(); }

 private:
  static constexpr Point kNoPoint = kMaxArea;

  State(const Board& board, Colour to_play, const Rules& rules)
      : rules_(rules), board_(board), to_play_(to_play) {
    if (!std::isfinite(rules.komi)) throw Error("komi is a finite number");
    if (rules_.max_plies <= 0) rules_.max_plies = Rules::default_max_plies(board.size());
    history_.start(board.hash());
    count_handicap();
  }

  /// Begins to count Black's stones until White puts one; there is no handicap if one stands.
  void count_handicap() {
    const bool open = !board_.stones(kWhite).any();
    handicap_ = open ? board_.stones(kBlack).count() : 0;
    handicap_open_ = open;
  }

  /// `banned` is what the ko rule forbids.
  KataGoPosition katago_position(const Points& banned) const {
    return {.board = board_,
            .history = history_,
            .rules = rules_,
            .to_play = to_play_,
            .ko = ko_,
            .passes = passes_,
            .banned = banned,
            .handicap = handicap_};
  }

  bool is_banned(Point point, Board::Effect effect) const {
    if (plies() == 0 && banned_at_start_.test(point)) return true;
    if (rules_.ko == Ko::kSimple) return point == ko_;
    // A stone that stays makes a new board unless one of its colour has stood there before.
    return (effect.suicide() || vacated_[to_play_].test(point)) && repeats(point, effect);
  }
  void remove_banned(Board::Moves& moves) const;
  bool repeats(Point point, Board::Effect effect) const;
  bool is_repetition(int ply, Point point, Board::Effect effect) const;

  void encode(const Encoding& encoding, std::span<std::uint64_t> bits,
              std::span<float> constants) const;

  Rules rules_;
  Board board_;
  History history_;
  Points vacated_[2];  ///< where a stone of the colour was taken away
  Points banned_at_start_;
  Colour to_play_;
  Point ko_ = kNoPoint;  ///< banned by the simple ko rule
  int passes_ = 0;
  int handicap_ = 0;            ///< Black's stones before White's first one
  bool handicap_open_ = false;  ///< White has put none yet
};

inline bool State::repeats(Point point, Board::Effect effect) const {
  std::uint64_t hash = board_.hash() ^ stone_key(to_play_, point);
  const auto take = [&](Colour player, Point head) {
    board_.for_each_stone(head, [&](Point stone) { hash ^= stone_key(player, stone); });
  };
  if (effect.captures) {
    board_.for_each_captured(point, to_play_, [&](Point head) { take(opponent(to_play_), head); });
  } else if (!effect.lives) {
    hash ^= stone_key(to_play_, point);
    Point seen[4];
    int count = 0;
    for (const Point next : board_.neighbours(point)) {
      if (board_.colour(next) != to_play_) continue;
      const Point head = board_.head(next);
      if (std::find(seen, seen + count, head) != seen + count) continue;
      seen[count++] = head;
      take(to_play_, head);
    }
  }
  return history_.may_contain(hash) &&
         history_.any_with_hash(hash, [&](int ply) { return is_repetition(ply, point, effect); });
}

inline bool State::is_repetition(int ply, Point point, Board::Effect effect) const {
  // The opponent is to move after this ply; it was so after every second one before.
  if (rules_.ko == Ko::kSituational && (plies() + 1 - ply) % 2 != 0) return false;
  std::array<Points, 2> wanted;
  const auto take = [&](Colour player, Point head) {
    board_.for_each_stone(head, [&](Point stone) { wanted[player].set(stone); });
  };
  if (effect.suicide()) {
    for (const Point next : board_.neighbours(point)) {
      if (board_.colour(next) == to_play_) take(to_play_, board_.head(next));
    }
  } else {
    wanted[to_play_].set(point);
    board_.for_each_captured(point, to_play_, [&](Point head) { take(opponent(to_play_), head); });
  }
  return history_.changes_since(ply) == wanted;
}

/// Removes from `moves` what the ko rule forbids.
inline void State::remove_banned(Board::Moves& moves) const {
  if (plies() == 0) {
    moves.plain = moves.plain - banned_at_start_;
    moves.captures = moves.captures - banned_at_start_;
    moves.suicides = moves.suicides - banned_at_start_;
  }
  if (rules_.ko == Ko::kSimple) {
    if (ko_ != kNoPoint) moves.captures.reset(ko_);
    return;
  }
  const Points& vacated = vacated_[to_play_];
  // Most moves are excluded by the hash of the board with one stone more.
  (moves.plain & vacated).for_each([&](Point point) {
    if (history_.may_contain(board_.hash() ^ stone_key(to_play_, point)) &&
        repeats(point, {.captures = false, .lives = true})) {
      moves.plain.reset(point);
    }
  });
  (moves.captures & vacated).for_each([&](Point point) {
    if (repeats(point, {.captures = true, .lives = true})) moves.captures.reset(point);
  });
  if (rules_.ko == Ko::kPositional) {
    // A stone that dies alone leaves the board as it was.
    moves.suicides = moves.suicides & board_.geometry().around(board_.stones(to_play_));
  }
  moves.suicides.for_each([&](Point point) {
    if (repeats(point, {.captures = false, .lives = false})) moves.suicides.reset(point);
  });
}

inline Points State::banned() const {
  if (is_over()) return {};
  Board::Moves moves = board_.moves(to_play_);
  if (!rules_.suicide) moves.suicides = {};
  const Points possible = moves.plain | moves.captures | moves.suicides;
  remove_banned(moves);
  return possible - (moves.plain | moves.captures | moves.suicides);
}

/// Appends the points in ascending order; `out` has room for eight more than there are.
inline Action* write_points(const Points& points, Action* out) {
#if defined(__AVX2__)
  static constexpr auto kBitsOfByte = [] {
    std::array<std::array<std::uint8_t, 8>, 256> table{};
    for (int byte = 0; byte < 256; ++byte) {
      int count = 0;
      for (int bit = 0; bit < 8; ++bit) {
        if (byte >> bit & 1) table[byte][count++] = static_cast<std::uint8_t>(bit);
      }
    }
    return table;
  }();
  for (int i = 0; i < Points::kWords; ++i) {
    int base = 64 * i;
    for (std::uint64_t word = points.words[i]; word; word >>= 8, base += 8) {
      const auto& bits = kBitsOfByte[word & 0xFF];
      const __m128i packed = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(bits.data()));
      const __m256i actions =
          _mm256_add_epi32(_mm256_cvtepu8_epi32(packed), _mm256_set1_epi32(base));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), actions);
      out += std::popcount(word & 0xFF);
    }
  }
#else
  points.for_each([&](Point point) { *out++ = point; });
#endif
  return out;
}

inline Points State::legal_points() const {
  // A stone beside an empty point lives, and is new to the board unless one has stood there before:
  // most points need no look at chains.
  const Points empty = board_.empty();
  const Points& vacated = vacated_[to_play_];
  const Points open = board_.geometry().around(empty) & empty;
  Points legal = open - vacated;
  if (plies() == 0) legal = legal - banned_at_start_;
  // Where every board is new, a stone that dies alone leaves the one that there was.
  const bool may_die_alone = rules_.ko != Ko::kPositional;
  const Points own = may_die_alone ? empty : board_.geometry().around(board_.stones(to_play_));
  (empty - legal).for_each([&](Point point) {
    const Board::Effect effect = vacated.test(point)
                                     ? board_.effect(point, to_play_)
                                     : Board::Effect{.lives = board_.stays(point, to_play_)};
    if (effect.suicide() && !(rules_.suicide && own.test(point))) return;
    if (!is_banned(point, effect)) legal.set(point);
  });
  return legal;
}

inline void State::legal_actions(std::vector<Action>& actions) const {
  actions.clear();
  if (is_over()) return;
  actions.resize(board_.area() + 9);
  Action* end = write_points(legal_points(), actions.data());
  *end++ = board_.area();
  actions.resize(end - actions.data());
}

inline Points State::sensible_points() const {
  if (is_over()) return {};
  Board::Moves moves = board_.moves(to_play_);
  remove_banned(moves);
  Points sensible;
  (moves.plain | moves.captures).for_each([&](Point point) {
    if (!is_own_eye(board_, point, to_play_)) sensible.set(point);
  });
  return sensible;
}

inline void State::play(Action action) {
  ko_ = kNoPoint;
  history_.begin_ply();
  if (action == board_.area()) {
    ++passes_;
  } else {
    passes_ = 0;
    if (handicap_open_) {
      handicap_ += to_play_ == kBlack;
      handicap_open_ = to_play_ == kBlack;
    }
    const auto point = static_cast<Point>(action);
    const Colour enemy = opponent(to_play_);
    Placement done;
    board_.place(point, to_play_, done);
    history_.change(to_play_, point);
    const auto take = [&](Colour player, Point head) {
      board_.for_each_stone(head, [&](Point stone) {
        history_.change(player, stone);
        vacated_[player].set(stone);
      });
    };
    for (int i = 0; i < done.num_captured; ++i) take(enemy, done.captured[i]);
    const Point head = board_.head(point);
    if (!board_.has_liberty(head)) {
      board_.remove_chain(head);
      take(to_play_, head);
    } else if (done.num_captured == 1 && board_.chain_size(done.captured[0]) == 1 &&
               board_.chain_size(head) == 1 && board_.in_atari(head)) {
      ko_ = done.captured[0];
    }
  }
  history_.end_ply(board_.hash());
  to_play_ = opponent(to_play_);
}

inline void State::encode(const Encoding& encoding, std::span<std::uint64_t> bits,
                          std::span<float> constants) const {
  if (encoding.planes == Encoding::Planes::kKataGoV7) {
    // A stone that dies alone is suicide, not a ban.
    const Points forbidden = banned_by_repetition();
    const KataGoPosition position = katago_position(forbidden);
    KataGoEncoder(position, encoding).write(bits, constants);
    return;
  }
  const int words = words_per_plane(board_.area());
  const Colour own = to_play_, other = opponent(own);
  const auto put = [&](int plane, const Points& points) {
    std::copy_n(points.words.begin(), words, bits.begin() + plane * words);
  };
  std::array<Points, 2> boards[Encoding::kMostPrevious + 1];
  boards[0] = {board_.stones(kBlack), board_.stones(kWhite)};
  int known = 1;
  history_.for_each_previous(boards[0], encoding.num_previous(),
                             [&](const auto& board) { boards[known++] = board; });
  const int before_start = encoding.repeat_history ? known - 1 : -1;
  const auto stones_before = [&](int ago, Colour player) {
    const int from = ago < known ? ago : before_start;
    return from < 0 ? Points{} : boards[from][player];
  };

  if (encoding.planes == Encoding::Planes::kLeela18) {
    for (int ago = 0; ago < 8; ++ago) {
      put(ago, stones_before(ago, own));
      put(8 + ago, stones_before(ago, other));
    }
    constants[0] = own == kBlack ? 1.0F : 0.0F;
    constants[1] = own == kWhite ? 1.0F : 0.0F;
    return;
  }

  put(0, own == kBlack ? board_.geometry().board : Points{});
  const Ladders found = ladders(encoding.ladder);
  put(1, found.lost & board_.stones(own));
  put(2, found.lost & board_.stones(other));
  put(3, found.unsettled & board_.stones(own));
  put(4, found.unsettled & board_.stones(other));
  Points by_liberties[6];
  (board_.heads(kBlack) | board_.heads(kWhite)).for_each([&](Point head) {
    Point liberties[6];
    Points& plane = by_liberties[board_.liberties(head, liberties, 6) - 1];
    board_.for_each_stone(head, [&](Point stone) { plane.set(stone); });
  });
  for (int i = 0; i < 6; ++i) put(5 + i, by_liberties[i]);
  for (int ago = 0; ago <= 4; ++ago) {
    put(11 + 2 * ago, stones_before(ago, own));
    put(12 + 2 * ago, stones_before(ago, other));
  }
}

static_assert(PackedGame<State>);

}  // namespace zerogames::go
