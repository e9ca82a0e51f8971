#pragma once

#include <cstring>

#include "encoder.hpp"
#include "policy.hpp"
#include "uci.hpp"

namespace zerogames::chess {

/// Keys of the positions since the last capture or pawn move, oldest first. Copies only what it
/// holds: rule 50 bounds it at 101, but it is short most of the time.
class KeyHistory {
 public:
  KeyHistory() = default;
  KeyHistory(const KeyHistory& other) { *this = other; }
  KeyHistory& operator=(const KeyHistory& other) {
    size_ = other.size_;
    std::memcpy(keys_.data(), other.keys_.data(), size_ * sizeof(std::uint64_t));
    return *this;
  }

  void clear() { size_ = 0; }
  void push(std::uint64_t key) { keys_[size_++] = key; }

  /// How often the newest key was there before. Only the same side's positions are compared, and
  /// no position comes back in less than four plies.
  int repetitions() const {
    int found = 0;
    for (int i = static_cast<int>(size_) - 5; i >= 0; i -= 2) found += keys_[i] == keys_[size_ - 1];
    return found;
  }

  /// Plies back to the last occurrence of the newest key; 0 if there is none.
  int plies_since_repetition() const {
    const int newest = static_cast<int>(size_) - 1;
    for (int i = newest - 4; i >= 0; i -= 2) {
      if (keys_[i] == keys_[newest]) return newest - i;
    }
    return 0;
  }

 private:
  std::size_t size_ = 0;
  std::array<std::uint64_t, 104> keys_;
};

/// A game of chess: the board, the last eight positions and what repetition needs.
class State {
 public:
  using Encoding = chess::Encoding;

  State() : State(parse_fen(kStartFen)) {}
  explicit State(const Board& board) : board_(board) {
    static const Board start = parse_fen(kStartFen);
    from_start_ = static_cast<const Placement&>(board) == start &&
                  board.castling == start.castling && !board.black_to_move;
    enter_position();
  }
  static State from_fen(std::string_view fen, bool chess960 = false) {
    return State(parse_fen(fen, chess960));
  }

  const Board& board() const { return board_; }
  const CheckInfo& checks() const { return checks_; }
  /// How often this position was there before.
  int repetitions() const { return repetitions_; }
  int plies_since_repetition() const {
    return repetitions_ > 0 ? keys_.plies_since_repetition() : 0;
  }
  bool in_check() const { return checks_.checkers != 0; }

  int action_size() const { return kNumActions; }
  int to_play() const { return board_.black_to_move; }
  int plies() const { return plies_; }

  void legal_actions(std::vector<Action>& actions) const {
    if (end_ != End::kNone) {
      actions.clear();
      return;
    }
    // Squares in order give actions in order; only promotions come after everything else.
    Action found[256];
    int size = 0;
    Bitboard promoting = 0;
    std::array<Bitboard, 8> promotion_targets;
    for_each_piece(board_, checks_, [&](int from, Bitboard targets) {
      if (bit(from) & kRank7 & board_.pawns) {
        promoting |= bit(file_of(from));
        promotion_targets[file_of(from)] = targets;
      }
      const auto& row = chess::detail::kPolicy.plain[from];
      while (targets) found[size++] = row[pop_lowest(targets)];
    });
    while (promoting) {
      const int from = pop_lowest(promoting);
      for (Bitboard targets = promotion_targets[from]; targets;) {
        const int to = file_of(pop_lowest(targets));
        for (const auto piece : {Promotion::kQueen, Promotion::kRook, Promotion::kBishop}) {
          found[size++] = chess::detail::promotion_action(from, to, piece);
        }
      }
    }
    actions.assign(found, found + size);
  }

  bool is_legal(Action action) const {
    return end_ == End::kNone && chess::is_legal(board_, checks_, move_of(board_, action));
  }

  void play(Action action) {
    history_[plies_ % kHistory] = board_;
    board_.play(move_of(board_, action));
    ++plies_;
    if (board_.halfmoves == 0) keys_.clear();
    enter_position();
  }

  std::optional<float> result() const {
    if (end_ == End::kNone) return std::nullopt;
    if (end_ != End::kCheckmate) return 0.0F;
    return board_.black_to_move ? 1.0F : -1.0F;
  }
  std::string_view end_reason() const {
    constexpr std::array<std::string_view, 6> reasons = {"",
                                                         "checkmate",
                                                         "stalemate",
                                                         "insufficient material",
                                                         "fifty moves",
                                                         "threefold repetition"};
    return reasons[static_cast<std::size_t>(end_)];
  }

  std::uint64_t position_key() const { return recent_keys_[plies_ % kHistory]; }

  /// A sum over the slots, each multiplied by its own odd constant.
  std::uint64_t observation_key() const {
    const int known = num_known();
    std::uint64_t sum =
        board_.halfmoves | std::uint64_t{repeated_} << 16 | static_cast<std::uint64_t>(known) << 24;
    std::uint64_t factor = 0x9E3779B97F4A7C15ULL;
    for (int slot = 0; slot < known; ++slot, factor *= 0xD1342543DE82EF95ULL) {
      sum += Board::fold(recent_keys_[(plies_ - slot) % kHistory], factor);
    }
    return mix(sum);
  }

  static Encoding parse_encoding(std::string_view text) { return chess::parse_encoding(text); }
  Shape observation_shape(Encoding) const { return {kPlanes, 8, 8}; }

  /// Writes the 104 bit planes.
  void write_bits(Encoding encoding, std::uint64_t* out) const {
    const int known = num_known();
    chess::detail::write_slot(board_, false, repeated_ & 1, out);
    for (int slot = 1; slot < known; ++slot) {
      chess::detail::write_slot(history_[(plies_ - slot) % kHistory], slot % 2 == 1,
                                (repeated_ >> slot) & 1, out + slot * kPlanesPerPosition);
    }
    if (known < kHistory) write_unknown(encoding, known, out);
  }

  void pack(Encoding encoding, PackedPlanes& packed) const {
    packed.bits.resize(kBitPlanes);
    packed.constants.resize(kConstantPlanes);
    write_bits(encoding, packed.bits.data());
    write_constants(board_, std::span<float, kConstantPlanes>(packed.constants));
  }
  void observe(Encoding encoding, std::span<float> planes) const {
    std::uint64_t bits[kBitPlanes];
    float constants[kConstantPlanes];
    write_bits(encoding, bits);
    write_constants(board_, constants);
    unpack_planes(bits, constants, 64, planes);
  }

 private:
  enum class End : std::uint8_t {
    kNone,
    kCheckmate,
    kStalemate,
    kInsufficientMaterial,
    kFiftyMoves,
    kThreefoldRepetition,
  };

  /// Positions that the encoder knows, at most eight.
  int num_known() const { return std::min(plies_ + 1, kHistory); }

  void enter_position() {
    const std::uint64_t key = board_.key();
    recent_keys_[plies_ % kHistory] = key;
    keys_.push(key);
    repetitions_ = static_cast<std::uint8_t>(keys_.repetitions());
    repeated_ = static_cast<std::uint8_t>(repeated_ << 1 | (repetitions_ > 0));
    checks_ = find_checks(board_);
    end_ = find_end();
  }

  End find_end() const {
    if (!has_legal_move(board_, checks_)) return in_check() ? End::kCheckmate : End::kStalemate;
    if (is_dead()) return End::kInsufficientMaterial;
    if (board_.halfmoves >= 100) return End::kFiftyMoves;
    if (repetitions_ >= 2) return End::kThreefoldRepetition;
    return End::kNone;
  }

  /// No mate can arise: at most one knight, or bishops of one colour only.
  bool is_dead() const {
    if (board_.pawns | board_.straights) return false;
    const Bitboard bishops = board_.diagonals, knights = board_.knights;
    if (knights) return !bishops && !(knights & (knights - 1));
    return !(bishops & kLightSquares) || !(bishops & ~kLightSquares);
  }

  void write_unknown(Encoding encoding, int known, std::uint64_t* out) const {
    const int oldest_slot = known - 1;
    const Placement& oldest = oldest_slot == 0 ? board_ : history_[0];
    int filled = kHistory;
    if (encoding.fill == HistoryFill::kNo) filled = known + (oldest.en_passant ? 1 : 0);
    if (encoding.fill == HistoryFill::kFenOnly && from_start_) filled = known;
    std::uint64_t* next = out + known * kPlanesPerPosition;
    std::memset(next, 0, sizeof(*next) * kPlanesPerPosition * (kHistory - known));
    if (filled == known) return;
    chess::detail::write_slot(chess::detail::before_double_step(oldest), oldest_slot % 2 == 1,
                              (repeated_ >> oldest_slot) & 1, next);
    for (int slot = known + 1; slot < filled; ++slot) {
      std::memcpy(out + slot * kPlanesPerPosition, next, sizeof(*next) * kPlanesPerPosition);
    }
  }

  Board board_;
  CheckInfo checks_;
  std::array<Placement, kHistory> history_;  ///< By ply modulo 8, each in its mover's view.
  std::array<std::uint64_t, kHistory> recent_keys_{};
  int plies_ = 0;
  std::uint8_t repetitions_ = 0;
  std::uint8_t repeated_ = 0;  ///< Bit t: the position t plies ago had been there before.
  End end_ = End::kNone;
  bool from_start_ = false;
  KeyHistory keys_;
};

static_assert(PackedGame<State>);

}  // namespace zerogames::chess
