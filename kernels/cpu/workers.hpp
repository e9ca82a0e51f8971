#pragma once

// A thread pool kept between calls. A thread that finds no part left in one job starts the next
// job, so no thread waits for the others at the end of a batch.

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace zerogames::trunk {

/// Serves one caller at a time, which is thread 0: callers from several threads hold `caller`.
class Workers {
 public:
  using Work = std::function<void(int thread, int part)>;

  /// Parts that are done in any order by up to `threads` threads.
  class Job {
   public:
    Job(int threads, int parts, Work work)
        : threads_(threads), parts_(parts), left_(parts), work_(std::move(work)) {}

   private:
    friend class Workers;
    const int threads_, parts_;
    int next_ = 0, left_;
    Work work_;
    std::exception_ptr error_;
  };

  Workers() = default;
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  ~Workers() {
    if (was_forked()) {
      team_.release();  // nothing can join them
      return;
    }
    {
      const std::lock_guard lock(team_->mutex);
      team_->ending = true;
    }
    team_->news.notify_all();
    for (std::thread& thread : team_->threads) thread.join();
  }

  /// Held by who calls the functions below, so that a second thread waits.
  std::unique_lock<std::mutex> caller() {
    if (was_forked()) forget();
    return std::unique_lock(team_->caller);
  }

  /// Lets the other threads begin; `finish` must be called before `work` goes out of use.
  std::shared_ptr<Job> start(int threads, int parts, Work work) {
    if (was_forked()) forget();
    auto job = std::make_shared<Job>(threads, parts, std::move(work));
    while (team_->threads.size() + 1 < static_cast<std::size_t>(threads)) {
      const int index = static_cast<int>(team_->threads.size()) + 1;
      team_->threads.emplace_back(&Team::serve, team_.get(), index);
    }
    {
      const std::lock_guard lock(team_->mutex);
      if (parts > 0) team_->jobs.push_back(job);
    }
    if (threads > 1) team_->news.notify_all();
    return job;
  }

  /// Helps until a job is done, and throws what its work threw first.
  void finish(Job& job) {
    std::unique_lock lock(team_->mutex);
    while (job.left_ > 0) {
      if (!team_->do_part(0, lock)) team_->ends.wait(lock);
    }
    if (job.error_) std::rethrow_exception(std::exchange(job.error_, nullptr));
  }

  /// Helps until all jobs are done.
  void finish_all() {
    std::unique_lock lock(team_->mutex);
    while (team_->unfinished > 0 || !team_->jobs.empty()) {
      if (!team_->do_part(0, lock)) team_->ends.wait(lock);
    }
  }

 private:
  struct Team {
    std::mutex caller, mutex;
    std::condition_variable news, ends;
    std::deque<std::shared_ptr<Job>> jobs;  ///< that have parts which nobody has begun
    std::vector<std::thread> threads;
    int unfinished = 0;  ///< parts in work
    bool ending = false;
    const pid_t process = getpid();

    auto job_for(int thread) {
      return std::find_if(jobs.begin(), jobs.end(),
                          [&](const auto& job) { return thread < job->threads_; });
    }

    /// A part of the oldest job that lets this thread help; false if there is none.
    bool do_part(int thread, std::unique_lock<std::mutex>& lock) {
      const auto found = job_for(thread);
      if (found == jobs.end()) return false;
      const std::shared_ptr<Job> job = *found;
      const int part = job->next_++;
      if (job->next_ == job->parts_) jobs.erase(found);
      ++unfinished;
      lock.unlock();
      std::exception_ptr error;
      try {
        job->work_(thread, part);
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      --unfinished;
      if (error && !job->error_) job->error_ = error;
      if (--job->left_ == 0) ends.notify_all();
      return true;
    }

    void serve(int thread) {
      std::unique_lock lock(mutex);
      while (!ending) {
        if (!do_part(thread, lock)) news.wait(lock);
      }
    }
  };

  /// A forked process has the memory of the threads but not the threads.
  bool was_forked() const { return team_->process != getpid(); }
  void forget() {
    team_.release();
    team_ = std::make_unique<Team>();
  }

  std::unique_ptr<Team> team_ = std::make_unique<Team>();
};

}  // namespace zerogames::trunk
