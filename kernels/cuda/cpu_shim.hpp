#pragma once

// Runs a CUDA source file on the CPU to test its arithmetic: g++ -include cpu_shim.hpp -x c++ x.cu
//
// The threads of a block are fibers on one stack each; a fiber runs until it waits at a barrier or
// a shuffle, or ends, then the next one runs. Blocks run one after the other. A write to shared
// memory is seen by others only after the writer's next barrier (a shuffle is none), so a missing
// barrier gives stale values. It finds no races beyond that and says nothing about speed.

#include <ucontext.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#define ZEROGAMES_CPU_SHIM
#define __device__
#define __global__
#define __launch_bounds__(threads)
// One block at a time: shared memory is a static variable.
#define __shared__ static

namespace cpu_shim {

constexpr int kWarp = 32;
constexpr std::size_t kStackBytes = 64 << 10;

struct Index {
  int x = 0;
};

enum class State { kReady, kAtBlock, kAtWarp, kDone };

struct PendingWrite {
  void* at;
  std::uint64_t value;
  std::size_t size;
};

struct Fiber {
  ucontext_t context;
  std::vector<PendingWrite> pending;
  std::unique_ptr<char[]> stack;
  State state = State::kReady;
};

struct Block {
  std::vector<Fiber> fibers;
  std::vector<std::uint64_t> shuffled;  // what each thread offers its warp
  ucontext_t scheduler;
  int running = 0;
  std::function<void()> body;
};

inline Block* block = nullptr;
inline Index thread_index, block_index, block_size;

inline void wait(State state) {
  Fiber& fiber = block->fibers[block->running];
  fiber.state = state;
  swapcontext(&fiber.context, &block->scheduler);
}

/// Makes the running thread's writes to shared memory visible.
inline void publish() {
  auto& pending = block->fibers[block->running].pending;
  for (const auto& write : pending) std::memcpy(write.at, &write.value, write.size);
  pending.clear();
}

inline void barrier(State state) {
  publish();
  wait(state);
}

/// An element of shared memory as one thread sees it.
template <typename T>
struct SharedElement {
  T* at;

  operator T() const {
    T value = *at;
    for (const auto& write : block->fibers[block->running].pending) {
      if (write.at == at) std::memcpy(&value, &write.value, sizeof value);
    }
    return value;
  }
  void operator=(const T& value) const {
    PendingWrite write{at, 0, sizeof value};
    std::memcpy(&write.value, &value, sizeof value);
    block->fibers[block->running].pending.push_back(write);
  }
};

template <typename T>
struct SharedPointer {
  T* memory;

  SharedPointer(T* m) : memory(m) {}
  SharedElement<T> operator[](int i) const { return {memory + i}; }
  SharedPointer operator+(int i) const { return memory + i; }
};

inline void run_fiber() {
  block->body();
  publish();
  block->fibers[block->running].state = State::kDone;
  swapcontext(&block->fibers[block->running].context, &block->scheduler);
}

/// Whether every thread in [first, last) waits in `state` or has ended, and some wait.
inline bool all_wait(int first, int last, State state) {
  bool some = false;
  for (int t = first; t < last; ++t) {
    const State s = block->fibers[t].state;
    if (s != state && s != State::kDone) return false;
    some |= s == state;
  }
  return some;
}

inline void release(int first, int last, State state) {
  for (int t = first; t < last; ++t) {
    if (block->fibers[t].state == state) block->fibers[t].state = State::kReady;
  }
}

inline void run_block() {
  const int threads = static_cast<int>(block->fibers.size());
  for (auto& fiber : block->fibers) {
    fiber.state = State::kReady;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = kStackBytes;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, run_fiber, 0);
  }
  for (bool progress = true; progress;) {
    progress = false;
    for (int t = 0; t < threads; ++t) {
      if (block->fibers[t].state != State::kReady) continue;
      block->running = thread_index.x = t;
      swapcontext(&block->scheduler, &block->fibers[t].context);
      progress = true;
    }
    for (int first = 0; first < threads; first += kWarp) {
      const int last = std::min(first + kWarp, threads);
      if (all_wait(first, last, State::kAtWarp)) {
        release(first, last, State::kAtWarp);
        progress = true;
      }
    }
    if (all_wait(0, threads, State::kAtBlock)) {
      release(0, threads, State::kAtBlock);
      progress = true;
    }
  }
}

template <typename Body>
void launch(int grid, int threads, Body body) {
  Block here;
  here.fibers.resize(threads);
  here.shuffled.resize(threads);
  here.body = body;
  for (auto& fiber : here.fibers) fiber.stack = std::make_unique<char[]>(kStackBytes);
  block = &here;
  block_size.x = threads;
  for (int b = 0; b < grid; ++b) {
    block_index.x = b;
    run_block();
  }
  block = nullptr;
}

template <typename T>
T shuffle(T value, int lane) {
  static_assert(sizeof(T) <= sizeof(std::uint64_t));
  const int first = block->running / kWarp * kWarp;
  std::memcpy(&block->shuffled[block->running], &value, sizeof value);
  wait(State::kAtWarp);
  std::memcpy(&value, &block->shuffled[first + lane], sizeof value);
  wait(State::kAtWarp);
  return value;
}

}  // namespace cpu_shim

#define threadIdx cpu_shim::thread_index
#define blockIdx cpu_shim::block_index
#define blockDim cpu_shim::block_size
#define ZEROGAMES_LAUNCH(kernel, grid, threads, stream, ...) \
  ((void)(stream), cpu_shim::launch(grid, threads, [&] { (kernel)(__VA_ARGS__); }))

inline void __syncthreads() { cpu_shim::barrier(cpu_shim::State::kAtBlock); }
template <typename T>
using Shared = cpu_shim::SharedPointer<T>;
inline void __syncwarp() { cpu_shim::barrier(cpu_shim::State::kAtWarp); }
template <typename T>
T __shfl_sync(unsigned, T value, int lane) {
  return cpu_shim::shuffle(value, lane);
}
inline int cudaGetLastError() { return 0; }

// Half precision: every operation rounds once, as on the GPU.
struct __half {
  _Float16 value;
};
struct __half2 {
  __half x, y;
};
struct float2 {
  float x, y;
};
inline float2 make_float2(float x, float y) { return {x, y}; }
inline __half __float2half(float v) { return {static_cast<_Float16>(v)}; }
inline float __half2float(__half v) { return static_cast<float>(v.value); }
inline bool __hlt(__half a, __half b) { return __half2float(a) < __half2float(b); }
inline __half2 __halves2half2(__half x, __half y) { return {x, y}; }
inline __half __low2half(__half2 v) { return v.x; }
inline __half __high2half(__half2 v) { return v.y; }
inline __half cpu_shim_hfma(__half a, __half b, __half c) {
  // A product of halves is exact in double, and so is nearly every sum.
  const double exact = static_cast<double>(__half2float(a)) * __half2float(b) + __half2float(c);
  return {static_cast<_Float16>(exact)};
}
inline __half2 __hfma2(__half2 a, __half2 b, __half2 c) {
  return {cpu_shim_hfma(a.x, b.x, c.x), cpu_shim_hfma(a.y, b.y, c.y)};
}
