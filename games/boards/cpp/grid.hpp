#pragma once

// What the board games share: sets of cells, and positions as text.

#include <array>
#include <cctype>
#include <cstdint>
#include <string>
#include <string_view>

#include "zerogames/error.hpp"
#include "zerogames/planes.hpp"

namespace zerogames::boards {

/// A set of the cells of a board of up to 19x19, row by row.
class Cells {
 public:
  bool operator[](int cell) const { return (words_[cell >> 6] >> (cell & 63) & 1) != 0; }
  void add(int cell) { words_[cell >> 6] |= std::uint64_t{1} << (cell & 63); }

  /// Appends the set as a bit plane of a board of `cells` cells.
  void append_to(PackedPlanes& packed, int cells) const {
    packed.bits.insert(packed.bits.end(), words_.begin(), words_.begin() + words_per_plane(cells));
  }

 private:
  std::array<std::uint64_t, 6> words_ = {};
};

/// `observe` of a game that has `pack`.
template <class G>
void observe_packed(const G& state, const typename G::Encoding& encoding, std::span<float> planes) {
  static thread_local PackedPlanes packed;
  state.pack(encoding, packed);
  const int cells = state.observation_shape(encoding).cells();
  unpack_planes(packed.bits, packed.constants, cells, planes);
}

/// Throws Error unless `text` is the only encoding's name.
inline void require_encoding(std::string_view game, std::string_view known, std::string_view text) {
  if (text == known) return;
  throw Error(std::string(game) + " has no encoding '" + std::string(text) +
              "'; known: " + std::string(known));
}

/// Reads rows from the top, with "/" between them, as far as the first space: letters of `letters`,
/// and numbers that count empty cells. Calls `place(row, column, index of the letter)`; returns
/// what follows the space.
template <class Place>
std::string_view read_rows(std::string_view text, int rows, int columns, std::string_view letters,
                           Place place) {
  const auto wrong_size = [&] {
    return Error("a board has " + std::to_string(rows) + " rows of " + std::to_string(columns) +
                 " cells");
  };
  int row = 0, column = 0;
  std::size_t i = 0;
  for (; i < text.size() && text[i] != ' '; ++i) {
    const char c = text[i];
    if (c == '/') {
      if (column != columns || row == rows - 1) throw wrong_size();
      ++row, column = 0;
    } else if (std::isdigit(static_cast<unsigned char>(c))) {
      int count = c - '0';
      while (i + 1 < text.size() && std::isdigit(static_cast<unsigned char>(text[i + 1]))) {
        count = 10 * count + (text[++i] - '0');
        if (count > columns) throw wrong_size();
      }
      column += count;
    } else {
      const std::size_t index = letters.find(c);
      if (index == std::string_view::npos) {
        throw Error("a board is written with digits, / and " + std::string(letters) + ", not '" +
                    std::string(1, c) + "'");
      }
      if (column >= columns) throw wrong_size();
      place(row, column++, static_cast<int>(index));
    }
    if (column > columns) throw wrong_size();
  }
  if (row != rows - 1 || column != columns) throw wrong_size();
  if (i == text.size()) throw Error("after the board comes the side to move");
  return text.substr(i + 1);
}

/// The inverse; `letter_at(row, column)` is 0 for an empty cell.
template <class LetterAt>
std::string write_rows(int rows, int columns, LetterAt letter_at) {
  std::string text;
  for (int row = 0; row < rows; ++row) {
    int empty = 0;
    for (int column = 0; column < columns; ++column) {
      const char letter = letter_at(row, column);
      if (letter == 0) {
        ++empty;
        continue;
      }
      if (empty > 0) text += std::to_string(empty);
      empty = 0;
      text += letter;
    }
    if (empty > 0) text += std::to_string(empty);
    if (row + 1 < rows) text += '/';
  }
  return text;
}

/// The player that `text` names by one of two letters.
inline int read_side(std::string_view text, std::string_view letters) {
  if (text.size() == 1 && (text[0] == letters[0] || text[0] == letters[1])) {
    return text[0] == letters[1];
  }
  throw Error("after the board comes the side to move, " + std::string(1, letters[0]) + " or " +
              std::string(1, letters[1]));
}

}  // namespace zerogames::boards
