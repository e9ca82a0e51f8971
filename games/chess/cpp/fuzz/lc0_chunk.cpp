// Lc0 chunks, unpacked: every sample of a chunk that is read can be made.

#include "../data/chunk.hpp"
#include "zerogames/fuzz.hpp"

using namespace zerogames;
using namespace zerogames::chess;

static void fuzz(std::string_view data) {
  const Chunk chunk(data);
  for (std::size_t number = 0; number < chunk.num_games(); ++number) {
    chunk.key(number);
    const auto records = chunk.game(number);
    require(!records.empty());
    SampleList samples;
    std::vector<std::int32_t> chosen(records.size());
    for (std::size_t row = 0; row < chosen.size(); ++row) {
      chosen[row] = static_cast<std::int32_t>(row);
    }
    try {
      chunk.samples(number, chosen, samples);
    } catch (const Error&) {
    }
    try {
      // A board of any planes; as a FEN it is a position or refused.
      State::from_fen(format_fen(chunk_board(records.front())));
    } catch (const Error&) {
    }
  }
}
ZEROGAMES_FUZZ_TARGET(fuzz)
