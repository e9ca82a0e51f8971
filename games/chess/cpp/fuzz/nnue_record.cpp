// Labels of NNUE training: a record that is read is a position, packs as itself and has successors.

#include <cstring>

#include "../nnue/record.hpp"
#include "zerogames/fuzz.hpp"

using namespace zerogames;
using namespace zerogames::chess;

static void fuzz(std::string_view data) {
  nnue::Record record;
  for (std::size_t at = 0; at + sizeof record <= data.size(); at += sizeof record) {
    std::memcpy(&record, data.data() + at, sizeof record);
    try {
      const Board board = nnue::unpack(record);
      const Board again = nnue::unpack(nnue::pack(board));
      require(format_fen(again) == format_fen(board));
      nnue::Record best, other;
      nnue::successors(record, at + data.size(), best, other);
    } catch (const Error&) {
    }
  }
}
ZEROGAMES_FUZZ_TARGET(fuzz)
