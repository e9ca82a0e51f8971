#pragma once

// One thread at a time: a bound object whose calls release the GIL must not be entered twice.

#include <atomic>
#include <utility>

#include "zerogames/error.hpp"

namespace zerogames::detail {

/// Base class of bound objects that serve one thread at a time.
class OneThread {
 public:
  /// Held during a call; a second one, from another thread or from inside the first, is refused.
  class Call {
   public:
    explicit Call(const OneThread& object) : busy_(object.busy_) {
      if (busy_.exchange(true, std::memory_order_acquire)) {
        throw Error("another thread is using this object; give each thread one of its own");
      }
    }
    ~Call() { busy_.store(false, std::memory_order_release); }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    std::atomic<bool>& busy_;
  };

 private:
  mutable std::atomic<bool> busy_ = false;
};

template <class Function, class Result, class Self, class... Arguments>
auto guard_call(Function function, Result (Function::*)(Self, Arguments...) const) {
  return [function](Self self, Arguments... arguments) -> Result {
    const OneThread::Call call(self);
    return function(self, std::forward<Arguments>(arguments)...);
  };
}

/// A function of a bound object, as a function that refuses a second thread.
template <class Function>
auto one_thread(Function function) {
  return guard_call(function, &Function::operator());
}
template <class Self, class Result, class... Arguments>
auto one_thread(Result (Self::*method)(Arguments...)) {
  return [method](Self& self, Arguments... arguments) -> Result {
    const OneThread::Call call(self);
    return (self.*method)(std::forward<Arguments>(arguments)...);
  };
}

}  // namespace zerogames::detail
