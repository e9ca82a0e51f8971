#pragma once

#include <algorithm>
#include <cstring>

#include "encoder.hpp"
#include "usi.hpp"
#include "zerogames/game.hpp"
#include "zerogames/repetition.hpp"

namespace zerogames::shogi {

/// Actions: 81 * plane + target square, both in the mover's view; the planes are those of moves.
inline constexpr int kNumActions = kNumPlanes * kSquares;
inline constexpr int kMostPlies = 1024;

constexpr int seen_by(int side, int square) { return side == kBlack ? square : turned(square); }

inline Move move_of(const Board& board, Action action) {
  return move_on_plane(board, action / kSquares, seen_by(board.side, action % kSquares));
}
/// Requires a legal move.
inline Action action_of(const Board& board, Move move) {
  return kSquares * plane_of(board, move) + seen_by(board.side, move.to);
}

/// What rules a game may choose.
struct Rules {
  /// Whether a king that has entered the promotion zone wins by the 27-point declaration.
  bool declaration = true;
  /// Moves after which a game is drawn.
  int max_plies = 512;
};

/// Keys of all positions so far, oldest first. Copies only what it holds.
class KeyHistory {
 public:
  KeyHistory() = default;
  KeyHistory(const KeyHistory& other) { *this = other; }
  KeyHistory& operator=(const KeyHistory& other) {
    size_ = other.size_;
    std::memcpy(keys_.data(), other.keys_.data(), size_ * sizeof(std::uint64_t));
    return *this;
  }

  void push(std::uint64_t key) { keys_[size_++] = key; }

  struct Occurrences {
    int earlier = 0;         ///< How often the newest position was there before.
    int plies_to_last = 0;   ///< Plies since the last of them.
    int plies_to_first = 0;  ///< Plies since the first of them.
  };
  /// No position comes back in less than four plies.
  Occurrences occurrences() const {
    Occurrences found;
    const int newest = static_cast<int>(size_) - 1;
    for (int i = newest - 4; i >= 0; i -= 2) {
      if (keys_[i] != keys_[newest]) continue;
      if (found.earlier++ == 0) found.plies_to_last = newest - i;
      found.plies_to_first = newest - i;
    }
    return found;
  }

 private:
  std::size_t size_ = 0;
  std::array<std::uint64_t, kMostPlies + 1> keys_;
};

/// A game of shogi: the board and what repetition needs. Black is the first player, also in
/// handicap games, where White begins.
class State {
 public:
  static constexpr bool kSidesAlternate = true;
  using Encoding = shogi::Encoding;

  State() : State(parse_sfen(kStartSfen)) {}
  explicit State(const Board& board, Rules rules = {}) : board_(board), rules_(rules) {
    enter_position();
  }
  static State from_sfen(std::string_view sfen, Rules rules = {}) {
    if (rules.max_plies < 1 || rules.max_plies > kMostPlies) {
      throw Error("max_plies must be from 1 to " + std::to_string(kMostPlies));
    }
    return State(parse_sfen(sfen), rules);
  }

  const Board& board() const { return board_; }
  const CheckInfo& checks() const { return checks_; }
  const Rules& rules() const { return rules_; }
  bool in_check() const { return checks_.checkers != 0; }
  /// How often this position was there before.
  int repetitions() const { return occurrences_.earlier; }
  /// 0 also where the repetition is no draw: one side has given check all the time.
  int plies_since_repetition() const {
    const int plies = occurrences_.plies_to_last;
    return plies > 0 && perpetual_checker(plies) < 0 ? plies : 0;
  }

  int action_size() const { return kNumActions; }
  int to_play() const { return board_.side; }
  int plies() const { return plies_; }

  void legal_actions(std::vector<Action>& actions) const {
    if (end_ != End::kNone) {
      actions.clear();
      return;
    }
    // No position has more than 593 legal moves.
    Action found[640];
    int size = 0;
    const bool white = board_.side == kWhite;
    for_each_plane(board_, checks_, [&](int plane, Bitboard targets) {
      if (white) targets = turned_set(targets);
      const Action first = kSquares * plane;
      for (std::uint64_t low = low_half(targets); low; low &= low - 1) {
        found[size++] = first + std::countr_zero(low);
      }
      for (std::uint64_t high = high_half(targets); high; high &= high - 1) {
        found[size++] = first + 64 + std::countr_zero(high);
      }
      return true;
    });
    actions.assign(found, found + size);
  }

  bool is_legal(Action action) const {
    if (end_ != End::kNone) return false;
    const int square = seen_by(board_.side, action % kSquares);
    return (legal_targets(board_, checks_, action / kSquares) & bit(square)) != 0;
  }

  void play(Action action) {
    const int mover = board_.side;
    board_.play(move_of(board_, action));
    ++plies_;
    enter_position();
    check_run_[mover] = in_check() ? check_run_[mover] + 1 : 0;
    if (end_ == End::kRepetition && perpetual_checker(occurrences_.plies_to_first) >= 0) {
      end_ = End::kPerpetualCheck;
    }
  }

  std::optional<float> result() const {
    const auto won_by = [](int side) { return side == kBlack ? 1.0F : -1.0F; };
    switch (end_) {
      case End::kNone:
        return std::nullopt;
      case End::kRepetition:
      case End::kMaxPlies:
        return 0.0F;
      case End::kDeclaration:
        return won_by(board_.side);
      case End::kPerpetualCheck:
        return won_by(other(perpetual_checker(occurrences_.plies_to_first)));
      default:
        return won_by(other(board_.side));
    }
  }
  std::string_view end_reason() const {
    constexpr std::array<std::string_view, 7> reasons = {
        "",           "checkmate",     "no legal move", "perpetual check",
        "repetition", "entering king", "move limit"};
    return reasons[static_cast<std::size_t>(end_)];
  }

  /// Whether the side to move may declare that it wins with its king in the promotion zone: not in
  /// check, ten other pieces there, and 28 points for Black, 27 for White, where bishop and rook
  /// count 5 and all else 1, in the zone and in hand.
  bool may_declare() const {
    const int side = board_.side;
    const Bitboard inside = board_.sides[side] & promotion_zone(side);
    const auto& of = board_.movers;
    if (!(inside & of[kKings]) || in_check() || count(inside) < 11) return false;
    const Bitboard big = of[kBishops] | of[kRooks] | of[kHorses] | of[kDragons];
    int points = count(inside) - 1 + 4 * count(inside & big);
    for (int kind = 0; kind < kNumHandKinds; ++kind) {
      points += board_.hands[side][kind] * (kind == kBishop || kind == kRook ? 5 : 1);
    }
    return points >= (side == kBlack ? 28 : 27);
  }

  std::uint64_t position_key() const { return board_.key; }
  std::uint64_t observation_key() const {
    return hash_combine(board_.key, static_cast<std::uint64_t>(occurrences_.earlier));
  }

  static Encoding parse_encoding(std::string_view text) { return shogi::parse_encoding(text); }
  Shape observation_shape(Encoding) const { return {kBitPlanes + kConstantPlanes, kSide, kSide}; }
  void pack(Encoding, PackedPlanes& packed) const {
    packed.bits.resize(2 * kBitPlanes);
    packed.constants.resize(kConstantPlanes);
    write_bits(board_, packed.bits.data());
    write_constants(board_, occurrences_.earlier, in_check(),
                    std::span<float, kConstantPlanes>(packed.constants));
  }
  void observe(Encoding, std::span<float> planes) const {
    std::uint64_t bits[2 * kBitPlanes];
    float constants[kConstantPlanes];
    write_bits(board_, bits);
    write_constants(board_, occurrences_.earlier, in_check(), constants);
    unpack_planes(bits, constants, kSquares, planes);
  }

 private:
  enum class End : std::uint8_t {
    kNone,
    kCheckmate,
    kNoMove,
    kPerpetualCheck,
    kRepetition,
    kDeclaration,
    kMaxPlies,
  };

  void enter_position() {
    keys_.push(board_.key);
    occurrences_ = keys_.occurrences();
    checks_ = find_checks(board_);
    end_ = find_end();
  }

  End find_end() const {
    if (!has_legal_move(board_, checks_)) return in_check() ? End::kCheckmate : End::kNoMove;
    if (occurrences_.earlier >= 3) return End::kRepetition;
    if (rules_.declaration && may_declare()) return End::kDeclaration;
    return plies_ >= rules_.max_plies ? End::kMaxPlies : End::kNone;
  }

  /// The side that alone gave check with every move of the last `plies`, or -1.
  int perpetual_checker(int plies) const {
    const bool black = check_run_[kBlack] >= plies / 2, white = check_run_[kWhite] >= plies / 2;
    return black == white ? -1 : (black ? kBlack : kWhite);
  }

  Board board_;
  CheckInfo checks_;
  Rules rules_;
  int plies_ = 0;
  KeyHistory::Occurrences occurrences_;
  /// The number of each side's latest moves that all gave check.
  std::array<int, 2> check_run_{};
  End end_ = End::kNone;
  KeyHistory keys_;
};

static_assert(PackedGame<State>);
static_assert(RepeatingGame<State>);

}  // namespace zerogames::shogi
