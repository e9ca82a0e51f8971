#pragma once

// What every fuzz target includes. A target is one function, `fuzz(bytes)`, that reads hostile
// bytes: an Error is a good answer, a crash or a broken promise (`require`) is a finding.
//
//   void fuzz(std::string_view bytes) { parse_fen(bytes); }
//   ZEROGAMES_FUZZ_TARGET(fuzz)

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "zerogames/error.hpp"

namespace zerogames {

/// Ends the process with a stack trace; the fuzzer keeps the bytes that led there as a finding.
inline void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace zerogames

/// The entry point that libFuzzer and replay.cpp call.
#define ZEROGAMES_FUZZ_TARGET(function)                                               \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) { \
    try {                                                                             \
      function(std::string_view(reinterpret_cast<const char*>(data), size));          \
    } catch (const zerogames::Error&) {                                               \
    }                                                                                 \
    return 0;                                                                         \
  }
