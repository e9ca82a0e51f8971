#pragma once

// Include this first in each translation unit of the module: all share the NumPy interface that
// module.cpp loads.

#define PY_ARRAY_UNIQUE_SYMBOL zerogames_boards_numpy
#ifndef ZEROGAMES_BOARDS_MAIN
#define NO_IMPORT_ARRAY
#endif

#include "zerogames/bind_play.hpp"

namespace zerogames::boards {

void bind_amazons(nb::module_& m);
void bind_ataxx(nb::module_& m);
void bind_breakthrough(nb::module_& m);
void bind_connect6(nb::module_& m);
void bind_gomoku(nb::module_& m);
void bind_hex(nb::module_& m);

}  // namespace zerogames::boards
