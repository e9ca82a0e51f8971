#pragma once

#include <array>

#include "bitboard.hpp"

#if defined(__BMI2__)
#include <immintrin.h>

#include <vector>
#endif

namespace zerogames::chess {

namespace detail {

struct Step {
  int file;
  int rank;
};
inline constexpr std::array<Step, 4> kStraightSteps = {{{0, 1}, {1, 0}, {0, -1}, {-1, 0}}};
inline constexpr std::array<Step, 4> kDiagonalSteps = {{{1, 1}, {1, -1}, {-1, -1}, {-1, 1}}};
inline constexpr std::array<Step, 8> kKnightSteps = {
    {{1, 2}, {2, 1}, {2, -1}, {1, -2}, {-1, -2}, {-2, -1}, {-2, 1}, {-1, 2}}};

constexpr bool on_board(int file, int rank) {
  return file >= 0 && file < 8 && rank >= 0 && rank < 8;
}

/// Squares from `square` in one direction up to and including the first occupied one.
constexpr Bitboard walk(int square, Step step, Bitboard occupied) {
  Bitboard seen = 0;
  int file = file_of(square) + step.file, rank = rank_of(square) + step.rank;
  for (; on_board(file, rank); file += step.file, rank += step.rank) {
    const Bitboard here = bit(square_at(file, rank));
    seen |= here;
    if (occupied & here) break;
  }
  return seen;
}

template <class Steps>
constexpr Bitboard walk_all(int square, const Steps& steps, Bitboard occupied) {
  Bitboard seen = 0;
  for (const Step step : steps) seen |= walk(square, step, occupied);
  return seen;
}

template <class Steps>
constexpr std::array<Bitboard, 64> leaps(const Steps& steps) {
  std::array<Bitboard, 64> table{};
  for (int square = 0; square < 64; ++square) {
    for (const Step step : steps) {
      const int file = file_of(square) + step.file, rank = rank_of(square) + step.rank;
      if (on_board(file, rank)) table[square] |= bit(square_at(file, rank));
    }
  }
  return table;
}

template <class Steps>
constexpr std::array<Bitboard, 64> rays(const Steps& steps) {
  std::array<Bitboard, 64> table{};
  for (int square = 0; square < 64; ++square) table[square] = walk_all(square, steps, 0);
  return table;
}

using SquarePairs = std::array<std::array<Bitboard, 64>, 64>;

template <class Rule>
constexpr SquarePairs aligned_pairs(Rule rule) {
  SquarePairs table{};
  for (int square = 0; square < 64; ++square) {
    for (const auto& steps : {kStraightSteps, kDiagonalSteps}) {
      for (const Step step : steps) {
        Bitboard passed = 0;
        const Bitboard ahead = walk(square, step, 0);
        const Bitboard line = ahead | bit(square) | walk(square, {-step.file, -step.rank}, 0);
        int file = file_of(square) + step.file, rank = rank_of(square) + step.rank;
        for (; on_board(file, rank); file += step.file, rank += step.rank) {
          const int other = square_at(file, rank);
          table[square][other] = rule(passed, line);
          passed |= bit(other);
        }
      }
    }
  }
  return table;
}

}  // namespace detail

inline constexpr auto kKnightAttacks = detail::leaps(detail::kKnightSteps);
inline constexpr auto kKingAttacks = [] {
  auto table = detail::leaps(detail::kStraightSteps);
  const auto diagonal = detail::leaps(detail::kDiagonalSteps);
  for (int square = 0; square < 64; ++square) table[square] |= diagonal[square];
  return table;
}();
/// What a rook or bishop sees on the empty board.
inline constexpr auto kRookRays = detail::rays(detail::kStraightSteps);
inline constexpr auto kBishopRays = detail::rays(detail::kDiagonalSteps);
/// Squares strictly between two squares of one line; empty for all others.
inline constexpr auto kBetween =
    detail::aligned_pairs([](Bitboard passed, Bitboard) { return passed; });
/// The whole line through two squares, from edge to edge; empty if there is none.
inline constexpr auto kLine = detail::aligned_pairs([](Bitboard, Bitboard line) { return line; });

#if defined(__BMI2__)

namespace detail {

/// Attacks by occupancy of the relevant inner squares, which PEXT turns into an index.
struct PextTable {
  struct Entry {
    Bitboard relevant;
    const Bitboard* attacks;
  };
  std::array<Entry, 64> entries;
  std::vector<Bitboard> storage;

  template <class Steps>
  explicit PextTable(const Steps& steps) {
    std::array<std::size_t, 64> offsets;
    for (int square = 0; square < 64; ++square) {
      Bitboard relevant = 0;
      // The last square of a ray is seen whether occupied or not.
      for (const Step step : steps) {
        const Bitboard ray = walk(square, step, 0);
        for (Bitboard rest = ray; rest;) {
          const int other = pop_lowest(rest);
          if (on_board(file_of(other) + step.file, rank_of(other) + step.rank)) {
            relevant |= bit(other);
          }
        }
      }
      entries[square].relevant = relevant;
      offsets[square] = storage.size();
      const std::uint64_t subsets = std::uint64_t{1} << count(relevant);
      for (std::uint64_t subset = 0; subset < subsets; ++subset) {
        storage.push_back(walk_all(square, steps, _pdep_u64(subset, relevant)));
      }
    }
    for (int square = 0; square < 64; ++square) {
      entries[square].attacks = storage.data() + offsets[square];
    }
  }

  Bitboard operator()(int square, Bitboard occupied) const {
    const Entry& entry = entries[square];
    return entry.attacks[_pext_u64(occupied, entry.relevant)];
  }
};
inline const PextTable rook_table(kStraightSteps);
inline const PextTable bishop_table(kDiagonalSteps);

}  // namespace detail

inline Bitboard rook_attacks(int square, Bitboard occupied) {
  return detail::rook_table(square, occupied);
}
inline Bitboard bishop_attacks(int square, Bitboard occupied) {
  return detail::bishop_table(square, occupied);
}

#else

namespace detail {

/// Subtracting the slider from the blockers ahead borrows up to the first one; the byte swap does
/// the same backwards, for every line that has at most one square on a rank.
constexpr Bitboard line_attacks(int square, Bitboard line, Bitboard occupied) {
  const Bitboard blockers = occupied & line;
  const Bitboard ahead = blockers - 2 * bit(square);
  const Bitboard behind = flip(flip(blockers) - 2 * bit(flip_square(square)));
  return (ahead ^ behind) & line;
}

inline constexpr auto kFiles = rays(std::array<Step, 2>{{{0, 1}, {0, -1}}});
inline constexpr auto kDiagonals = rays(std::array<Step, 2>{{{1, 1}, {-1, -1}}});
inline constexpr auto kAntiDiagonals = rays(std::array<Step, 2>{{{1, -1}, {-1, 1}}});
/// By file and the six inner squares of the rank.
inline constexpr auto kRankAttacks = [] {
  std::array<std::array<std::uint8_t, 64>, 8> table{};
  for (int file = 0; file < 8; ++file) {
    for (int inner = 0; inner < 64; ++inner) {
      table[file][inner] =
          static_cast<std::uint8_t>(walk_all(file, std::array<Step, 2>{{{1, 0}, {-1, 0}}},
                                             static_cast<Bitboard>(inner) << 1) &
                                    kRank1);
    }
  }
  return table;
}();

}  // namespace detail

inline Bitboard rook_attacks(int square, Bitboard occupied) {
  const int first = square & 56;
  const Bitboard rank = detail::kRankAttacks[file_of(square)][(occupied >> (first + 1)) & 63];
  return (rank << first) | detail::line_attacks(square, detail::kFiles[square], occupied);
}
inline Bitboard bishop_attacks(int square, Bitboard occupied) {
  return detail::line_attacks(square, detail::kDiagonals[square], occupied) |
         detail::line_attacks(square, detail::kAntiDiagonals[square], occupied);
}

#endif

}  // namespace zerogames::chess
