#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "zerogames/error.hpp"
#include "zerogames/game.hpp"

namespace zerogames {

/// What a net should say about a position, in the side to move's view.
struct SampleValues {
  float result_q = 0;  ///< +1 won, 0 drawn, -1 lost
  float result_d = 0;  ///< 1 if drawn
  float search_q = 0;  ///< what the search found; the result where nothing is known
  float search_d = 0;
  float moves_left = -1;  ///< turns to the end; -1 if unknown
  float weight = 1;
  float ply = -1;  ///< moves played before; -1 if unknown
};

/// A training sample on its way from a file through the shuffle buffer to a batch: about one
/// kilobyte of bits where the batch has tens of kilobytes of floats.
///
/// Layout, without padding: this header; bit planes u64[num_bit_planes][words]; legal actions
/// u64[(action_size + 63) / 64]; constant planes f32[num_constants]; planes as floats
/// f32[num_float_planes][cells]; policy f32[num_policy], its actions u16[num_policy].
struct SampleHeader {
  std::uint16_t cells = 0;
  std::uint16_t action_size = 0;
  std::uint16_t num_bit_planes = 0;
  std::uint16_t num_constants = 0;
  std::uint16_t num_float_planes = 0;
  std::uint16_t num_policy = 0;
  SampleValues values;

  int num_planes() const { return num_bit_planes + num_constants + num_float_planes; }
  std::size_t bit_words() const {
    return std::size_t{num_bit_planes} * static_cast<std::size_t>(words_per_plane(cells));
  }
  std::size_t legal_words() const { return (std::size_t{action_size} + 63) / 64; }
  std::size_t num_floats() const { return std::size_t{num_float_planes} * cells; }
  std::size_t total_bytes() const {
    return sizeof(SampleHeader) + 8 * (bit_words() + legal_words()) +
           4 * (std::size_t{num_constants} + num_floats()) + 6 * std::size_t{num_policy};
  }
};
static_assert(sizeof(SampleHeader) == 40);

/// Samples one after another in one piece of memory.
class SampleList {
 public:
  void clear() {
    bytes_.clear();
    ends_.clear();
  }
  std::size_t size() const { return ends_.size(); }
  std::string_view operator[](std::size_t index) const {
    const std::size_t first = index == 0 ? 0 : ends_[index - 1];
    return {bytes_.data() + first, ends_[index] - first};
  }

  /// `legal` must not be empty; policy actions must be legal ones. Header counts are filled in.
  void add(SampleHeader header, std::span<const std::uint64_t> bits,
           std::span<const float> constants, std::span<const Action> legal,
           std::span<const Action> policy_actions, std::span<const float> policy) {
    header.num_constants = static_cast<std::uint16_t>(constants.size());
    header.num_policy = static_cast<std::uint16_t>(policy.size());
    legal_.assign(header.legal_words(), 0);
    for (const Action action : legal) legal_[action / 64] |= std::uint64_t{1} << (action % 64);
    policy_actions_.assign(policy_actions.begin(), policy_actions.end());
    append(&header, sizeof(header));
    append(bits.data(), bits.size_bytes());
    append(legal_.data(), 8 * legal_.size());
    append(constants.data(), constants.size_bytes());
    append(policy.data(), policy.size_bytes());
    append(policy_actions_.data(), 2 * policy_actions_.size());
    ends_.push_back(bytes_.size());
  }

 private:
  void append(const void* data, std::size_t size) {
    if (size > 0) bytes_.append(static_cast<const char*>(data), size);
  }

  std::string bytes_;
  std::vector<std::size_t> ends_;
  std::vector<std::uint64_t> legal_;
  std::vector<std::uint16_t> policy_actions_;
};

/// Where the rows of a batch are; see zerogames/data/sample.py.
struct BatchView {
  int num_planes, cells, action_size;
  float* planes;      ///< [B, planes, cells]
  float* policy;      ///< [B, actions]
  bool* legal;        ///< [B, actions]
  float* result;      ///< [B, 3]
  float* search;      ///< [B, 3]
  float* moves_left;  ///< [B]
  float* weights;     ///< [B]
  float* plies;       ///< [B]
};

/// A board symmetry: new = old[permutation] for cells and actions; empty for the identity.
struct Permutation {
  std::span<const std::int32_t> cells;
  std::span<const std::int32_t> actions;
};

namespace detail {

inline void write_wdl(float q, float d, float* out) {
  out[0] = (1 - d + q) / 2;
  out[1] = d;
  out[2] = (1 - d - q) / 2;
}

/// Reads parts of a sample in order; the total was checked before.
struct SampleCursor {
  const char* at;

  template <class T>
  const char* take(std::size_t count) {
    const char* start = at;
    at += count * sizeof(T);
    return start;
  }
};

}  // namespace detail

/// Expands one sample into row `row` of a batch. Throws Error if it does not fit there.
inline void expand_sample(std::string_view sample, const BatchView& batch, std::size_t row,
                          const Permutation& permutation, std::vector<float>& scratch) {
  SampleHeader header;
  if (sample.size() < sizeof(header)) throw Error("a sample is too short");
  std::memcpy(&header, sample.data(), sizeof(header));
  if (header.total_bytes() != sample.size()) throw Error("a sample has the wrong size");
  if (header.num_planes() != batch.num_planes || header.cells != batch.cells ||
      header.action_size != batch.action_size) {
    throw Error("a sample has other sizes than its batch");
  }
  const auto cells = static_cast<std::size_t>(batch.cells);
  const auto actions = static_cast<std::size_t>(batch.action_size);
  const std::size_t plane_floats = static_cast<std::size_t>(batch.num_planes) * cells;
  float* const planes = batch.planes + row * plane_floats;
  float* const policy = batch.policy + row * actions;
  bool* const legal = batch.legal + row * actions;
  const bool permute = !permutation.cells.empty();
  float* target = planes;
  if (permute) {
    scratch.resize(plane_floats + actions);
    target = scratch.data();
  }

  detail::SampleCursor cursor{sample.data() + sizeof(header)};
  const char* bits = cursor.take<std::uint64_t>(header.bit_words());
  const char* legal_bits = cursor.take<std::uint64_t>(header.legal_words());
  const char* constants = cursor.take<float>(header.num_constants);
  const char* floats = cursor.take<float>(header.num_floats());
  const char* probabilities = cursor.take<float>(header.num_policy);
  const char* policy_actions = cursor.take<std::uint16_t>(header.num_policy);

  const int words = words_per_plane(header.cells);
  std::uint64_t plane_words[16];
  if (words > 16) throw Error("a board has at most 1024 cells");
  for (int plane = 0; plane < header.num_bit_planes; ++plane, target += cells) {
    std::memcpy(plane_words, bits + 8 * static_cast<std::size_t>(plane * words),
                8 * static_cast<std::size_t>(words));
    expand_bits(plane_words, batch.cells, target);
  }
  for (int plane = 0; plane < header.num_constants; ++plane, target += cells) {
    float value;
    std::memcpy(&value, constants + 4 * plane, 4);
    fill_plane(value, batch.cells, target);
  }
  std::memcpy(target, floats, 4 * header.num_floats());

  // Legal flags: eight bits become eight bytes by one multiplication.
  const std::size_t whole_bytes = actions / 8;
  for (std::size_t byte = 0; byte < whole_bytes; ++byte) {
    const std::uint64_t spread =
        ((static_cast<std::uint8_t>(legal_bits[byte]) * 0x0101010101010101ULL) &
         0x8040201008040201ULL);
    const std::uint64_t flags =
        ((spread + 0x7F7F7F7F7F7F7F7FULL) | spread) >> 7 & 0x0101010101010101ULL;
    std::memcpy(legal + 8 * byte, &flags, 8);
  }
  for (std::size_t action = 8 * whole_bytes; action < actions; ++action) {
    legal[action] = (static_cast<std::uint8_t>(legal_bits[action / 8]) >> (action % 8)) & 1;
  }
  std::memset(policy, 0, 4 * actions);
  for (std::size_t entry = 0; entry < header.num_policy; ++entry) {
    std::uint16_t action;
    std::memcpy(&action, policy_actions + 2 * entry, 2);
    if (action >= actions) throw Error("a sample names an action that does not exist");
    std::memcpy(policy + action, probabilities + 4 * entry, 4);
  }
  detail::write_wdl(header.values.result_q, header.values.result_d, batch.result + 3 * row);
  detail::write_wdl(header.values.search_q, header.values.search_d, batch.search + 3 * row);
  batch.moves_left[row] = header.values.moves_left;
  batch.weights[row] = header.values.weight;
  batch.plies[row] = header.values.ply;

  if (!permute) return;
  const float* from = scratch.data();
  for (int plane = 0; plane < batch.num_planes; ++plane, from += cells) {
    float* to = planes + static_cast<std::size_t>(plane) * cells;
    for (std::size_t cell = 0; cell < cells; ++cell) to[cell] = from[permutation.cells[cell]];
  }
  float* const old = scratch.data() + plane_floats;
  std::memcpy(old, policy, 4 * actions);
  for (std::size_t action = 0; action < actions; ++action) {
    policy[action] = old[permutation.actions[action]];
  }
  for (std::size_t action = 0; action < actions; ++action) old[action] = legal[action];
  for (std::size_t action = 0; action < actions; ++action) {
    legal[action] = old[permutation.actions[action]] != 0;
  }
}

}  // namespace zerogames
