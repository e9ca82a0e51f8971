#pragma once

#include <span>
#include <string>

#include "board.hpp"
#include "zerogames/error.hpp"

namespace zerogames::chess {

/// What stands in the slots of positions before the first known one.
enum class HistoryFill : std::uint8_t {
  kFenOnly,  ///< The first known position, unless it is the start position.
  kAlways,   ///< The first known position.
  kNo,       ///< Nothing; one slot if the first known position has an en-passant square.
};

/// `lc0-classic`: 8 positions of 13 bit planes and 8 constants.
struct Encoding {
  HistoryFill fill = HistoryFill::kFenOnly;
};

inline constexpr int kHistory = 8;
inline constexpr int kPlanesPerPosition = 13;
inline constexpr int kBitPlanes = kHistory * kPlanesPerPosition;
inline constexpr int kConstantPlanes = 8;
inline constexpr int kPlanes = kBitPlanes + kConstantPlanes;

inline Encoding parse_encoding(std::string_view text) {
  if (text == "lc0-classic" || text == "lc0-classic:fill=fen_only") return {};
  if (text == "lc0-classic:fill=always") return {HistoryFill::kAlways};
  if (text == "lc0-classic:fill=no") return {HistoryFill::kNo};
  throw Error("chess has no encoding '" + std::string(text.substr(0, 60)) +
              "'; known: lc0-classic with the option fill=fen_only, fill=always or fill=no");
}

namespace detail {

/// One history slot; `turned` shows a position of the other side in the mover's view.
inline void write_slot(const Placement& position, bool turned, bool repeated, std::uint64_t* out) {
  Placement seen = position;
  if (turned) seen.turn();
  const Bitboard kinds[6] = {seen.pawns,   seen.knights,  seen.bishops(),
                             seen.rooks(), seen.queens(), seen.kings};
  for (int kind = 0; kind < 6; ++kind) {
    out[kind] = kinds[kind] & seen.ours;
    out[6 + kind] = kinds[kind] & seen.theirs;
  }
  out[12] = repeated ? ~Bitboard{0} : 0;
}

/// Takes back the double step that an en-passant square tells of.
inline Placement before_double_step(Placement position) {
  const Bitboard step = south(position.en_passant) | north(position.en_passant);
  position.pawns ^= step;
  position.theirs ^= step;
  position.en_passant = 0;
  return position;
}

}  // namespace detail

/// The constants: rights to castle (ours, theirs; queen side first), Black to move, rule-50 plies,
/// zero, one.
inline void write_constants(const Board& board, std::span<float, kConstantPlanes> out) {
  const auto rights = [&](Bitboard side, Bitboard rank, float* queen_then_king) {
    const Bitboard king = side & board.kings, rooks = board.castling & rank;
    queen_then_king[0] = (rooks & (king - 1)) != 0 ? 1.0F : 0.0F;
    queen_then_king[1] = (rooks & ~(king - 1)) != 0 ? 1.0F : 0.0F;
  };
  rights(board.ours, kRank1, out.data());
  rights(board.theirs, kRank8, out.data() + 2);
  out[4] = board.black_to_move ? 1.0F : 0.0F;
  out[5] = static_cast<float>(board.halfmoves);
  out[6] = 0.0F;
  out[7] = 1.0F;
}

}  // namespace zerogames::chess
