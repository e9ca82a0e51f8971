#pragma once

#include <charconv>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "../state.hpp"
#include "zerogames/sample.hpp"

namespace zerogames::go {

inline constexpr int kLeelaBoards = 8;

/// One training record of Leela Zero: boards in the view of the side to move, newest first.
struct LeelaRecord {
  std::array<Points, kLeelaBoards> own, other;
  Colour to_play = kBlack;
  float result = 0;  ///< +1 the side to move won, -1 it lost
  std::vector<Action> policy_actions;
  std::vector<float> policy;
};

/// The records of a training file of Leela Zero, cut into games where one does not follow another.
class LeelaChunk {
 public:
  static constexpr std::size_t kBinarySize = 2176;

  /// The text form: 19 lines a position.
  static LeelaChunk from_text(std::string_view text, int size) {
    check_size(size);
    LeelaChunk chunk(size);
    std::size_t number = 0;
    while (!text.empty()) {
      ++number;
      try {
        LeelaRecord record;
        if (chunk.read_text(text, record)) {
          chunk.add(std::move(record));
        } else {
          ++chunk.num_dropped_;
        }
      } catch (const Error& error) {
        throw Error("record " + std::to_string(number) + ": " + error.what());
      }
    }
    return chunk;
  }

  /// The binary form of the training script: 2176 bytes a position, 19x19.
  static LeelaChunk from_binary(std::string_view data) {
    LeelaChunk chunk(19);
    if (data.size() % kBinarySize != 0) {
      throw Error("truncated: " + std::to_string(data.size()) +
                  " bytes are not a multiple of 2176");
    }
    for (std::size_t at = 0; at < data.size(); at += kBinarySize) {
      try {
        chunk.add(chunk.read_binary(data.substr(at, kBinarySize)));
      } catch (const Error& error) {
        throw Error("record " + std::to_string(at / kBinarySize + 1) + ": " + error.what());
      }
    }
    return chunk;
  }

  int size() const { return size_; }
  /// Records without numbers in their policy, which very old files have.
  std::size_t num_dropped() const { return num_dropped_; }
  std::size_t num_games() const { return starts_.size(); }
  std::span<const LeelaRecord> game(std::size_t number) const {
    const std::size_t end = number + 1 < starts_.size() ? starts_[number + 1] : records_.size();
    return std::span(records_).subspan(starts_[number], end - starts_[number]);
  }

  std::uint64_t key(std::size_t number) const {
    std::uint64_t hash = static_cast<std::uint64_t>(size_);
    for (const LeelaRecord& record : game(number)) {
      hash = hash_combine(hash, record.to_play);
      for (const std::uint64_t word : record.own[0].words) hash = hash_combine(hash, word);
      for (const std::uint64_t word : record.other[0].words) hash = hash_combine(hash, word);
    }
    return hash;
  }

  void samples(std::size_t number, std::span<const std::int32_t> chosen, const Encoding& encoding,
               SampleList& out) const {
    const auto records = game(number);
    const int cells = size_ * size_;
    PackedPlanes packed;
    std::vector<Action> legal;
    SampleHeader header;
    header.cells = static_cast<std::uint16_t>(cells);
    header.action_size = static_cast<std::uint16_t>(cells + 1);
    for (const std::int32_t index : chosen) {
      if (index < 0 || static_cast<std::size_t>(index) >= records.size()) {
        throw Error("there is no such position in the game");
      }
      const LeelaRecord& record = records[static_cast<std::size_t>(index)];
      const State state = rebuild(record);
      state.pack(encoding, packed);
      state.legal_actions(legal);
      // What the search visited was legal, whatever superko the older past would tell of.
      legal.insert(legal.end(), record.policy_actions.begin(), record.policy_actions.end());
      header.num_bit_planes = static_cast<std::uint16_t>(
          packed.bits.size() / static_cast<std::size_t>(words_per_plane(cells)));
      header.values = {record.result,
                       0,
                       record.result,
                       0,
                       static_cast<float>(records.size() - static_cast<std::size_t>(index)),
                       1,
                       static_cast<float>(index)};
      out.add(header, packed.bits, packed.constants, legal, record.policy_actions, record.policy);
    }
  }

 private:
  explicit LeelaChunk(int size) : size_(size) {}

  static std::string_view take_line(std::string_view& text) {
    const auto end = text.find('\n');
    if (end == text.npos) throw Error("the file ends inside a record");
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    return line;
  }

  static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    throw Error("a plane holds something that is no hexadecimal digit");
  }

  /// Four points a digit, the first in the highest bit; the last point on its own.
  Points read_plane(std::string_view line) const {
    const int cells = size_ * size_, digits = cells / 4, rest = cells % 4;
    if (static_cast<int>(line.size()) != digits + (rest ? 1 : 0)) {
      throw Error("a plane has " + std::to_string(line.size()) + " characters; " +
                  std::to_string(digits + (rest ? 1 : 0)) + " are right for size " +
                  std::to_string(size_));
    }
    Points points;
    for (int digit = 0; digit < digits; ++digit) {
      const int value = hex_digit(line[static_cast<std::size_t>(digit)]);
      for (int i = 0; value && i < 4; ++i) {
        if (value >> (3 - i) & 1) points.set(4 * digit + i);
      }
    }
    if (rest) {
      const char last = line.back();
      if (last != '0' && last != '1') throw Error("the last digit of a plane is neither 0 nor 1");
      if (last == '1') points.set(cells - 1);
    }
    return points;
  }

  /// False for a record to be dropped: its policy holds nan.
  bool read_text(std::string_view& text, LeelaRecord& record) const {
    for (Points& board : record.own) board = read_plane(take_line(text));
    for (Points& board : record.other) board = read_plane(take_line(text));
    const std::string_view side = take_line(text);
    if (side != "0" && side != "1") throw Error("the side to move is neither 0 nor 1");
    record.to_play = side == "1" ? kWhite : kBlack;
    const bool whole = read_policy(take_line(text), record);
    const std::string_view result = take_line(text);
    if (result != "1" && result != "-1") throw Error("the result is neither 1 nor -1");
    record.result = result == "1" ? 1.0F : -1.0F;
    if (whole) check(record);
    return whole;
  }

  bool read_policy(std::string_view line, LeelaRecord& record) const {
    const Action actions = size_ * size_ + 1;
    bool whole = true;
    float sum = 0;
    Action action = 0;
    const char* at = line.data();
    const char* const end = at + line.size();
    while (at < end) {
      if (action == actions) throw Error("the policy has too many numbers");
      if (*at == '0' && (at + 1 == end || at[1] == ' ')) {
        ++at;
      } else {
        float p = 0;
        const auto parsed = std::from_chars(at, end, p);
        if (parsed.ec != std::errc() && parsed.ec != std::errc::result_out_of_range) {
          throw Error("the policy holds something that is no number");
        }
        if (parsed.ec == std::errc::result_out_of_range) p = 0;  // far below what counts
        at = parsed.ptr;
        if (std::isnan(p)) {
          whole = false;
        } else if (!(p >= 0 && p <= 1.001F)) {
          throw Error("the policy holds a share outside 0 to 1");
        } else if (p > 0) {
          record.policy_actions.push_back(action);
          record.policy.push_back(p);
          sum += p;
        }
      }
      ++action;
      if (at < end) {
        if (*at != ' ' || at + 1 == end) break;
        ++at;
      }
    }
    if (at != end || action != actions) {
      throw Error("the policy has " + std::to_string(action) + " numbers, not " +
                  std::to_string(actions));
    }
    if (whole && !(std::abs(sum - 1) < 1e-2F)) throw Error("the policy does not sum to 1");
    return whole;
  }

  LeelaRecord read_binary(std::string_view data) const {
    constexpr int kCells = 361, kActions = 362;
    std::int32_t version;
    std::memcpy(&version, data.data(), 4);
    if (version != 1) throw Error("version " + std::to_string(version) + " is not 1");
    LeelaRecord record;
    float sum = 0;
    for (Action action = 0; action < kActions; ++action) {
      float p;
      std::memcpy(&p, data.data() + 4 + 4 * action, 4);
      if (!(p >= 0 && p <= 1.001F)) throw Error("the policy holds a share outside 0 to 1");
      if (p > 0) {
        record.policy_actions.push_back(action);
        record.policy.push_back(p);
        sum += p;
      }
    }
    if (!(std::abs(sum - 1) < 1e-2F)) throw Error("the policy does not sum to 1");
    const char* bits = data.data() + 4 + 4 * kActions;
    for (int plane = 0; plane < 2 * kLeelaBoards; ++plane) {
      Points& board = plane < kLeelaBoards ? record.own[static_cast<std::size_t>(plane)]
                                           : record.other[static_cast<std::size_t>(plane - 8)];
      for (int cell = 0; cell < kCells; ++cell) {
        const int bit = plane * kCells + cell;
        if (bits[bit / 8] >> (7 - bit % 8) & 1) board.set(cell);
      }
    }
    const auto side = static_cast<std::uint8_t>(data[kBinarySize - 2]);
    const auto won = static_cast<std::uint8_t>(data[kBinarySize - 1]);
    if (side > 1) throw Error("the side to move is neither 0 nor 1");
    if (won > 1) throw Error("the result is neither 1 nor 0");
    record.to_play = side ? kWhite : kBlack;
    record.result = won ? 1.0F : -1.0F;
    check(record);
    return record;
  }

  void check(const LeelaRecord& record) const {
    for (std::size_t ago = 0; ago < kLeelaBoards; ++ago) {
      if ((record.own[ago] & record.other[ago]).any()) {
        throw Error("two stones stand on one point");
      }
    }
    for (const Action action : record.policy_actions) {
      if (action < size_ * size_ && (record.own[0] | record.other[0]).test(action)) {
        throw Error("the policy has a share for a point that is taken");
      }
    }
  }

  void add(LeelaRecord record) {
    if (records_.empty() || !follows(records_.back(), record)) starts_.push_back(records_.size());
    records_.push_back(std::move(record));
  }

  static bool follows(const LeelaRecord& previous, const LeelaRecord& next) {
    if (previous.to_play == next.to_play) return false;
    // The first record of a game looks like a pass on the empty board, which nobody plays.
    const bool empty = !(next.own[0] | next.other[0]).any();
    if (empty && next.to_play == kBlack) return false;
    for (std::size_t ago = 0; ago + 1 < kLeelaBoards; ++ago) {
      if (next.own[ago + 1] != previous.other[ago] || next.other[ago + 1] != previous.own[ago]) {
        return false;
      }
    }
    return true;
  }

  /// A state with the same boards behind it: the oldest one set up, the others played.
  State rebuild(const LeelaRecord& record) const {
    const auto stones = [&](std::size_t ago, Colour player) -> const Points& {
      return player == record.to_play ? record.own[ago] : record.other[ago];
    };
    std::size_t oldest = kLeelaBoards - 1;
    // Empty boards before the first stone are the time before the game.
    while (oldest > 0 && !(record.own[oldest] | record.other[oldest]).any() &&
           !(record.own[oldest - 1] | record.other[oldest - 1]).any()) {
      --oldest;
    }
    std::array<std::vector<Point>, 2> set_up;
    for (const Colour player : {kBlack, kWhite}) {
      stones(oldest, player).for_each([&](Point point) { set_up[player].push_back(point); });
    }
    const Colour first = oldest % 2 == 0 ? record.to_play : opponent(record.to_play);
    const Rules rules{.komi = 7.5F, .ko = Ko::kPositional, .suicide = false, .max_plies = 1 << 20};
    State state = State::from_stones(size_, rules, set_up[kBlack], set_up[kWhite], first);
    for (std::size_t ago = oldest; ago > 0; --ago) {
      const auto mover = static_cast<Colour>(state.to_play());
      const Points added = stones(ago - 1, mover) - stones(ago, mover);
      Action action = size_ * size_;
      added.for_each([&](Point point) { action = point; });
      if (added.count() > 1 || (action < size_ * size_ && !state.is_legal(action)) ||
          state.is_over()) {
        throw Error("the boards of a record are not those of a game");
      }
      state.play(action);
      if (state.board().stones(kBlack) != stones(ago - 1, kBlack) ||
          state.board().stones(kWhite) != stones(ago - 1, kWhite)) {
        throw Error("the boards of a record are not those of a game");
      }
    }
    return state;
  }

  int size_;
  std::size_t num_dropped_ = 0;
  std::vector<LeelaRecord> records_;
  std::vector<std::size_t> starts_;
};

}  // namespace zerogames::go
