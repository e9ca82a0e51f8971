#define ZEROGAMES_BOARDS_MAIN
#include "binding.hpp"

NB_MODULE(ZEROGAMES_MODULE, m) {
  zerogames::init_bindings();
  zerogames::boards::bind_amazons(m);
  zerogames::boards::bind_ataxx(m);
  zerogames::boards::bind_breakthrough(m);
  zerogames::boards::bind_connect6(m);
  zerogames::boards::bind_gomoku(m);
  zerogames::boards::bind_hex(m);
}
