// Leela Zero's training files: text if the first byte is even, else the binary form.

#include "../data/leela.hpp"
#include "zerogames/fuzz.hpp"

using namespace zerogames;
using namespace zerogames::go;

static void make_samples(const LeelaChunk& chunk) {
  const auto encoding = State::parse_encoding("leela-18");
  for (std::size_t number = 0; number < chunk.num_games(); ++number) {
    chunk.key(number);
    const auto records = chunk.game(number);
    require(!records.empty());
    for (std::int32_t row = 0; row < static_cast<std::int32_t>(records.size()); ++row) {
      try {
        SampleList samples;
        chunk.samples(number, std::span(&row, 1), encoding, samples);
      } catch (const Error&) {
      }
    }
  }
}

static void fuzz(std::string_view data) {
  if (data.empty()) return;
  const bool binary = data[0] & 1;
  data.remove_prefix(1);
  make_samples(binary ? LeelaChunk::from_binary(data) : LeelaChunk::from_text(data, 19));
}
ZEROGAMES_FUZZ_TARGET(fuzz)
