#include <nanobind/nanobind.h>

namespace {

/// The highest instruction-set level, as cmake/ZerogamesModule.cmake names them, that this CPU and
/// operating system can run.
const char* cpu_level() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                  __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("popcnt");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  return v4 ? "v4" : v3 ? "v3" : "baseline";
#else
  return "baseline";
#endif
}

}  // namespace

NB_MODULE(ZEROGAMES_MODULE, m) { m.def("cpu_level", &cpu_level); }
