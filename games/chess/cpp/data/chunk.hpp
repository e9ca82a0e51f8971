#pragma once

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "../state.hpp"
#include "zerogames/sample.hpp"

namespace zerogames::chess {

/// The offsets of the fields of Lc0's training record, by version; 0: the version lacks the field.
struct ChunkLayout {
  std::size_t size, input_format, policy, planes, flags, root, moves, result, visits;
};

/// The layout of versions 3 to 7; throws Error for anything else.
inline const ChunkLayout& chunk_layout(std::uint32_t version) {
  static constexpr ChunkLayout kLayouts[5] = {
      {8276, 0, 4, 7436, 8268, 0, 0, 0, 0},
      {8292, 0, 4, 7436, 8268, 8276, 0, 0, 0},
      {8308, 4, 8, 7440, 8272, 8280, 8296, 0, 0},
      {8356, 4, 8, 7440, 8272, 8280, 8296, 8308, 8340},
      {8396, 4, 8, 7440, 8272, 8280, 8296, 8308, 8340},
  };
  if (version < 3 || version > 7) {
    throw Error("not an Lc0 chunk: it begins with version " + std::to_string(version) +
                ", known are 3 to 7");
  }
  return kLayouts[version - 3];
}

inline constexpr int kChunkPlanes = 104;
/// A bit of the byte invariance_info, from version 6 on.
inline constexpr int kProvedBit = 3;

/// One training record. All values are in the side to move's view; NaN where unknown.
struct ChunkRecord {
  std::uint32_t version = 0;
  const char* policy = nullptr;  ///< 1858 floats, unaligned
  std::array<std::uint64_t, kChunkPlanes> planes;
  std::array<std::uint8_t, 4> castling;  ///< ours queen side, ours king side, theirs the same
  bool black_to_move = false;
  std::uint8_t rule50 = 0;
  float root_q, best_q, root_d, best_d, root_m, best_m;
  float plies_left;  ///< -1 where unknown
  float result_q, result_d;
  float played_q, played_d, played_m, orig_q, orig_d, orig_m;
  bool proved = false;  ///< best_q is a proof
  std::uint32_t visits = 0;
  int played = kNoAction, best = kNoAction;
  float policy_kld;
};

/// Swaps a-file and h-file: Lc0 stores each rank with the a-file in the highest bit.
constexpr Bitboard mirror_files(Bitboard squares) {
  squares = ((squares >> 1) & 0x5555555555555555ULL) | ((squares & 0x5555555555555555ULL) << 1);
  squares = ((squares >> 2) & 0x3333333333333333ULL) | ((squares & 0x3333333333333333ULL) << 2);
  return ((squares >> 4) & 0x0F0F0F0F0F0F0F0FULL) | ((squares & 0x0F0F0F0F0F0F0F0FULL) << 4);
}

namespace detail {

template <class T>
T load(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

inline void require_value(float q, float d, const char* name) {
  constexpr float kSlack = 1e-3F;
  const bool fits = q >= -1 - kSlack && q <= 1 + kSlack && d >= -kSlack && d <= 1 + kSlack &&
                    std::abs(q) <= 1 - d + 2 * kSlack;
  if (!fits) throw Error(std::string(name) + " is not a value");
}

/// The board of a history slot.
inline Placement slot_placement(const std::uint64_t* slot) {
  Placement placement;
  for (int kind = 0; kind < 6; ++kind) {
    placement.ours |= slot[kind];
    placement.theirs |= slot[6 + kind];
  }
  placement.pawns = slot[0] | slot[6];
  placement.knights = slot[1] | slot[7];
  placement.diagonals = slot[2] | slot[8] | slot[4] | slot[10];
  placement.straights = slot[3] | slot[9] | slot[4] | slot[10];
  placement.kings = slot[5] | slot[11];
  return placement;
}

inline void check_planes(const ChunkRecord& record) {
  const std::uint64_t* slot = record.planes.data();
  int pieces = 0;
  Bitboard all = 0;
  for (int plane = 0; plane < 12; ++plane) {
    pieces += count(slot[plane]);
    all |= slot[plane];
  }
  if (count(slot[5]) != 1 || count(slot[11]) != 1) throw Error("a side has not one king");
  if ((slot[0] | slot[6]) & (kRank1 | kRank8)) throw Error("a pawn stands on rank 1 or 8");
  if (pieces != count(all)) throw Error("two pieces stand on one square");
  for (int plane = 12; plane < kChunkPlanes; plane += kPlanesPerPosition) {
    if (slot[plane] != 0 && slot[plane] != ~Bitboard{0}) {
      throw Error("a repetition plane is neither empty nor full");
    }
  }
}

inline std::string input_format_name(std::uint32_t format) {
  switch (format) {
    case 2:
      return "castling planes";
    case 3:
      return "canonical";
    case 4:
      return "canonical hectoplies";
    case 5:
      return "canonical v2";
    case 132:
      return "canonical hectoplies, armageddon";
    case 133:
      return "canonical v2, armageddon";
    default:
      return "unknown";
  }
}

/// Sum of the entries that are not negative; NaN if one is neither -1 nor a share.
inline float policy_sum(const char* policy) {
  constexpr int kLanes = 8;  // independent sums, so that the loop runs in vector registers
  float sums[kLanes] = {};
  std::int32_t wrong[kLanes] = {};
  const auto add = [&](int first, int count) {
    float p[kLanes] = {};
    std::memcpy(p, policy + 4 * first, 4 * static_cast<std::size_t>(count));
    for (int lane = 0; lane < kLanes; ++lane) {
      const bool share = (p[lane] >= 0) & (p[lane] <= 1.001F);
      wrong[lane] |= !(share | (p[lane] == -1));
      sums[lane] += share ? p[lane] : 0;
    }
  };
  int action = 0;
  for (; action + kLanes <= kNumActions; action += kLanes) add(action, kLanes);
  add(action, kNumActions - action);
  float sum = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    if (wrong[lane]) return std::numeric_limits<float>::quiet_NaN();
    sum += sums[lane];
  }
  return sum;
}

}  // namespace detail

/// Reads and checks one record; throws Error with what is wrong.
inline ChunkRecord read_chunk_record(const char* data, std::uint32_t version) {
  using detail::load;
  constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();
  const ChunkLayout& layout = chunk_layout(version);
  if (load<std::uint32_t>(data) != version) throw Error("versions are mixed in one file");
  if (layout.input_format) {
    const auto format = load<std::uint32_t>(data + layout.input_format);
    if (format != 1) {
      throw Error("input format " + std::to_string(format) + " (" +
                  detail::input_format_name(format) + "); only format 1 (classic) is read");
    }
  }
  ChunkRecord record;
  record.version = version;
  record.policy = data + layout.policy;
  std::memcpy(record.planes.data(), data + layout.planes, 8 * kChunkPlanes);
  for (std::uint64_t& plane : record.planes) plane = mirror_files(plane);
  const char* flags = data + layout.flags;
  for (int right = 0; right < 4; ++right) {
    record.castling[right] = load<std::uint8_t>(flags + right);
    if (record.castling[right] > 1) throw Error("a castling byte is neither 0 nor 1");
  }
  const auto side = load<std::uint8_t>(flags + 4);
  if (side > 1) throw Error("the side to move is neither 0 nor 1");
  record.black_to_move = side == 1;
  record.rule50 = load<std::uint8_t>(flags + 5);
  const auto move_count = load<std::uint8_t>(flags + 6);
  const auto result = load<std::int8_t>(flags + 7);

  const auto value = [&](std::size_t base, int index) {
    return base ? load<float>(data + base + 4 * index) : kUnknown;
  };
  record.root_q = value(layout.root, 0), record.best_q = value(layout.root, 1);
  record.root_d = value(layout.root, 2), record.best_d = value(layout.root, 3);
  record.root_m = value(layout.moves, 0), record.best_m = value(layout.moves, 1);
  record.plies_left = value(layout.moves, 2);
  if (layout.moves && !(record.plies_left >= 0 && record.plies_left < 1e5F)) {
    throw Error("plies_left is not a number of plies");
  }
  // Old writers sometimes left the number of plies in an unused byte.
  if (!layout.moves || record.plies_left == 0) {
    record.plies_left = move_count && version < 6 ? move_count : layout.moves ? 0.0F : -1.0F;
  }
  if (layout.result) {
    record.result_q = value(layout.result, 0), record.result_d = value(layout.result, 1);
    record.played_q = value(layout.result, 2), record.played_d = value(layout.result, 3);
    record.played_m = value(layout.result, 4), record.orig_q = value(layout.result, 5);
    record.orig_d = value(layout.result, 6), record.orig_m = value(layout.result, 7);
    record.proved = move_count >> kProvedBit & 1;
    record.visits = load<std::uint32_t>(data + layout.visits);
    record.played = load<std::uint16_t>(data + layout.visits + 4);
    record.best = load<std::uint16_t>(data + layout.visits + 6);
    record.policy_kld = load<float>(data + layout.visits + 8);
    if (record.played >= kNumActions || record.best >= kNumActions) {
      throw Error("a move index is above 1857");
    }
  } else {
    if (result < -1 || result > 1) throw Error("the result is none of -1, 0, 1");
    record.result_q = result, record.result_d = result == 0 ? 1.0F : 0.0F;
    record.played_q = record.played_d = record.played_m = kUnknown;
    record.orig_q = record.orig_d = record.orig_m = record.policy_kld = kUnknown;
  }
  detail::require_value(record.result_q, record.result_d, "the result");
  if (layout.root) {
    detail::require_value(record.root_q, record.root_d, "root_q, root_d");
    detail::require_value(record.best_q, record.best_d, "best_q, best_d");
  }
  detail::check_planes(record);
  if (!(std::abs(detail::policy_sum(record.policy) - 1) < 1e-2F)) {
    throw Error("the policy is not shares that sum to 1");
  }
  return record;
}

/// The position of a record, without its counters' history. En passant shows in the history: a
/// pawn of theirs that was two ranks back one ply ago.
inline Board chunk_board(const ChunkRecord& record) {
  Board board;
  static_cast<Placement&>(board) = detail::slot_placement(record.planes.data());
  const auto add_rights = [&](int queen_side, Bitboard rank, Bitboard side) {
    const Bitboard corners[2] = {kFileA, kFileH};
    for (int i = 0; i < 2; ++i) {
      if (!record.castling[queen_side + i]) continue;
      const Bitboard rook = corners[i] & rank;
      const Bitboard king = (kFileA << 4) & rank;
      if (!(rook & board.rooks() & side) || !(king & board.kings & side)) {
        throw Error("castling rights without king and rook in place (a Chess960 game?)");
      }
      board.castling |= rook;
    }
  };
  add_rights(0, kRank1, board.ours);
  add_rights(2, kRank8, board.theirs);
  const Placement before = detail::slot_placement(record.planes.data() + kPlanesPerPosition);
  const Bitboard their_pawns = board.pawns & board.theirs, old_pawns = before.pawns & before.theirs;
  const Bitboard arrived = their_pawns & ~old_pawns & kRank5;
  const Bitboard left = old_pawns & ~their_pawns & kRank7;
  const Bitboard stepped = arrived & (left >> 16);
  const Bitboard beside = ((stepped & ~kFileA) >> 1) | ((stepped & ~kFileH) << 1);
  if (before.occupied() && count(stepped) == 1 && (beside & board.ours & board.pawns)) {
    board.en_passant = north(stepped);
  }
  board.halfmoves = record.rule50;
  board.black_to_move = record.black_to_move;
  return board;
}

/// The unpacked contents of a chunk file: records of one or, if it was merged, several games.
class Chunk {
 public:
  /// `data` must outlive the chunk. Throws Error with the number of the first wrong record.
  explicit Chunk(std::string_view data) : data_(data) {
    if (data_.size() < 4) throw Error("not an Lc0 chunk: it is empty");
    version_ = detail::load<std::uint32_t>(data_.data());
    const std::size_t size = chunk_layout(version_).size;
    if (data_.size() % size != 0) {
      throw Error("truncated: " + std::to_string(data_.size()) + " bytes are not a multiple of " +
                  std::to_string(size) + ", the size of a version " + std::to_string(version_) +
                  " record");
    }
    const std::size_t count = data_.size() / size;
    records_.reserve(count);
    for (std::size_t index = 0; index < count; ++index) {
      try {
        records_.push_back(read_chunk_record(data_.data() + index * size, version_));
      } catch (const Error& error) {
        throw Error("record " + std::to_string(index + 1) + ": " + error.what());
      }
      if (index == 0 || !follows(records_[index - 1], records_[index])) starts_.push_back(index);
    }
    starts_.push_back(count);
  }
  Chunk(const Chunk&) = delete;
  Chunk& operator=(const Chunk&) = delete;

  std::uint32_t version() const { return version_; }
  std::size_t num_games() const { return starts_.size() - 1; }
  std::span<const ChunkRecord> game(std::size_t number) const {
    return std::span(records_).subspan(starts_[number], starts_[number + 1] - starts_[number]);
  }

  /// Covers the boards of all positions of a game.
  std::uint64_t key(std::size_t number) const {
    std::uint64_t hash = 0;
    for (const ChunkRecord& record : game(number)) {
      hash = hash_combine(hash, record.black_to_move);
      for (int plane = 0; plane < 12; ++plane) hash = hash_combine(hash, record.planes[plane]);
    }
    return hash;
  }

  void samples(std::size_t number, std::span<const std::int32_t> chosen, SampleList& out) const {
    const auto records = game(number);
    SampleHeader header;
    header.cells = 64;
    header.action_size = kNumActions;
    header.num_bit_planes = kChunkPlanes;
    std::vector<Action> legal, actions;
    std::vector<float> policy;
    for (const std::int32_t index : chosen) {
      if (index < 0 || static_cast<std::size_t>(index) >= records.size()) {
        throw Error("there is no such position in the game");
      }
      const ChunkRecord& record = records[static_cast<std::size_t>(index)];
      read_policy(record, legal, actions, policy);
      const bool searched = !std::isnan(record.best_q) && version_ > 3;
      header.values = {record.result_q,
                       record.result_d,
                       searched ? record.best_q : record.result_q,
                       searched ? record.best_d : record.result_d,
                       record.plies_left,
                       1.0F,
                       static_cast<float>(index)};
      const float constants[kConstantPlanes] = {static_cast<float>(record.castling[0]),
                                                static_cast<float>(record.castling[1]),
                                                static_cast<float>(record.castling[2]),
                                                static_cast<float>(record.castling[3]),
                                                record.black_to_move ? 1.0F : 0.0F,
                                                static_cast<float>(record.rule50),
                                                0.0F,
                                                1.0F};
      out.add(header, record.planes, constants, legal, actions, policy);
    }
  }

 private:
  /// Whether `next` is the position after `previous`.
  static bool follows(const ChunkRecord& previous, const ChunkRecord& next) {
    if (previous.black_to_move == next.black_to_move) return false;
    for (int plane = 0; plane < 6; ++plane) {
      if (next.planes[kPlanesPerPosition + plane] != flip(previous.planes[6 + plane]) ||
          next.planes[kPlanesPerPosition + 6 + plane] != flip(previous.planes[plane])) {
        return false;
      }
    }
    return true;
  }

  /// Splits the policy into legal actions and those with a share.
  static void read_policy(const ChunkRecord& record, std::vector<Action>& legal,
                          std::vector<Action>& actions, std::vector<float>& policy) {
    legal.clear(), actions.clear(), policy.clear();
    for (int first = 0; first < kNumActions; first += 2) {
      // Most entries are -1: look at two at once.
      constexpr std::uint64_t kTwoIllegal = 0xBF800000BF800000ULL;
      if (detail::load<std::uint64_t>(record.policy + 4 * first) == kTwoIllegal) continue;
      for (int action = first; action < first + 2; ++action) {
        const float p = detail::load<float>(record.policy + 4 * action);
        if (p >= 0 && record.version > 3) legal.push_back(action);
        if (p > 0) actions.push_back(action), policy.push_back(p);
      }
    }
    if (record.version > 3) return;
    // Version 3 holds zeros for illegal moves too, so ask the rules.
    const Board board = chunk_board(record);
    for_each_move(board, find_checks(board), [&](Move move) { legal.push_back(action_of(move)); });
    for (const Action action : actions) {
      if (std::find(legal.begin(), legal.end(), action) == legal.end()) {
        throw Error("the policy has a share for an illegal move");
      }
    }
  }

  std::string_view data_;
  std::uint32_t version_ = 0;
  std::vector<ChunkRecord> records_;
  std::vector<std::size_t> starts_;
};
static_assert(kNumActions % 2 == 0);

}  // namespace zerogames::chess
