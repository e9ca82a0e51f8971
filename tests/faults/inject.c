// Makes one call that changes files below a folder fail, or kills the process there.
//
// Preloaded into a Python process. The test and the process share FAULTS_CONTROL, a file with a
// `struct control`: the process counts its calls there, and the test says which one fails and how.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

struct control {
  _Atomic int32_t calls;  // counted so far
  int32_t fail_at;        // number of the call that fails, from 1; 0: none
  int32_t error;          // its errno; 0: SIGKILL for the whole process group
  int32_t lasting;        // all later calls fail as well
  char folder[4096];      // only calls on paths below it count
  char failed[4096];      // what failed: name of the call and path
};

static struct control* control;

__attribute__((constructor)) static void attach(void) {
  const char* path = getenv("FAULTS_CONTROL");
  if (!path) return;
  const int file = open(path, O_RDWR);
  if (file < 0) abort();
  control = mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (control == MAP_FAILED) abort();
  close(file);
}

#define NEXT(name)                            \
  static __typeof__(&name) next;              \
  if (!next) next = dlsym(RTLD_NEXT, #name)

enum outcome { kPass, kFail, kKill };

// Counts a call on `path`, which is relative to `folder_fd`; kFail has set errno.
static enum outcome count(const char* name, int folder_fd, const char* path) {
  if (!control || !control->folder[0] || !path) return kPass;
  char whole[2 * PATH_MAX];
  if (path[0] == '/') {
    snprintf(whole, sizeof(whole), "%s", path);
  } else {
    char link[64], base[PATH_MAX];
    snprintf(link, sizeof(link), folder_fd == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d",
             folder_fd);
    const ssize_t size = readlink(link, base, sizeof(base) - 1);
    if (size < 0) return kPass;
    base[size] = 0;
    snprintf(whole, sizeof(whole), "%s/%s", base, path);
  }
  const size_t prefix = strlen(control->folder);
  if (strncmp(whole, control->folder, prefix) || (whole[prefix] && whole[prefix] != '/'))
    return kPass;
  const int number = atomic_fetch_add(&control->calls, 1) + 1;
  const int at = control->fail_at;
  if (!at || number < at || (number > at && !control->lasting)) return kPass;
  if (number == at)
    snprintf(control->failed, sizeof(control->failed), "%s %s", name, whole + prefix);
  if (!control->error) return kKill;
  errno = control->error;
  return kFail;
}

static enum outcome count_file(const char* name, int file) {
  char link[64], path[PATH_MAX];
  if (!control || !control->folder[0]) return kPass;
  snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
  const int saved = errno;
  const ssize_t size = readlink(link, path, sizeof(path) - 1);
  errno = saved;
  if (size < 0) return kPass;
  path[size] = 0;
  return count(name, AT_FDCWD, path);
}

static void die(void) {
  kill(0, SIGKILL);
  for (;;) pause();
}

// Fails or dies as `count` says; a write has then written one half of its bytes.
#define CHECK(outcome)               \
  switch (outcome) {                 \
    case kPass: break;               \
    case kKill: die(); return -1;    \
    case kFail: return -1;           \
  }

#define CHECK_WRITE(outcome, half)   \
  switch (outcome) {                 \
    case kPass: break;               \
    case kKill: half; die(); break;  \
    case kFail: {                    \
      const int error = errno;       \
      half;                          \
      errno = error;                 \
      return -1;                     \
    }                                \
  }

ssize_t write(int file, const void* data, size_t size) {
  NEXT(write);
  CHECK_WRITE(count_file("write", file), (void)!next(file, data, size / 2))
  return next(file, data, size);
}

ssize_t pwrite(int file, const void* data, size_t size, off_t at) {
  NEXT(pwrite);
  CHECK_WRITE(count_file("pwrite", file), (void)!next(file, data, size / 2, at))
  return next(file, data, size, at);
}

ssize_t pwrite64(int file, const void* data, size_t size, off64_t at) {
  NEXT(pwrite64);
  CHECK_WRITE(count_file("pwrite64", file), (void)!next(file, data, size / 2, at))
  return next(file, data, size, at);
}

ssize_t writev(int file, const struct iovec* parts, int num_parts) {
  NEXT(writev);
  CHECK_WRITE(count_file("writev", file), (void)!next(file, parts, num_parts / 2))
  return next(file, parts, num_parts);
}

int fsync(int file) {
  NEXT(fsync);
  CHECK(count_file("fsync", file))
  return next(file);
}

int fdatasync(int file) {
  NEXT(fdatasync);
  CHECK(count_file("fdatasync", file))
  return next(file);
}

int ftruncate(int file, off_t size) {
  NEXT(ftruncate);
  CHECK(count_file("ftruncate", file))
  return next(file, size);
}

int ftruncate64(int file, off64_t size) {
  NEXT(ftruncate64);
  CHECK(count_file("ftruncate64", file))
  return next(file, size);
}

int truncate(const char* path, off_t size) {
  NEXT(truncate);
  CHECK(count("truncate", AT_FDCWD, path))
  return next(path, size);
}

int truncate64(const char* path, off64_t size) {
  NEXT(truncate64);
  CHECK(count("truncate64", AT_FDCWD, path))
  return next(path, size);
}

int rename(const char* from, const char* to) {
  NEXT(rename);
  CHECK(count("rename", AT_FDCWD, to))
  return next(from, to);
}

int renameat(int from_fd, const char* from, int to_fd, const char* to) {
  NEXT(renameat);
  CHECK(count("renameat", to_fd, to))
  return next(from_fd, from, to_fd, to);
}

int renameat2(int from_fd, const char* from, int to_fd, const char* to, unsigned flags) {
  NEXT(renameat2);
  CHECK(count("renameat2", to_fd, to))
  return next(from_fd, from, to_fd, to, flags);
}

int mkdir(const char* path, mode_t mode) {
  NEXT(mkdir);
  CHECK(count("mkdir", AT_FDCWD, path))
  return next(path, mode);
}

int mkdirat(int folder, const char* path, mode_t mode) {
  NEXT(mkdirat);
  CHECK(count("mkdirat", folder, path))
  return next(folder, path, mode);
}

// Only calls that may make a file count.
#define OPEN(name, folder_fd, ...)                               \
  va_list rest;                                                  \
  va_start(rest, flags);                                         \
  const mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0; \
  va_end(rest);                                                  \
  NEXT(name);                                                    \
  if (flags & O_CREAT) CHECK(count(#name, folder_fd, path))      \
  return next(__VA_ARGS__, flags, mode)

int open(const char* path, int flags, ...) { OPEN(open, AT_FDCWD, path); }
int open64(const char* path, int flags, ...) { OPEN(open64, AT_FDCWD, path); }
int openat(int folder, const char* path, int flags, ...) { OPEN(openat, folder, folder, path); }
int openat64(int folder, const char* path, int flags, ...) { OPEN(openat64, folder, folder, path); }

#define FOPEN(name)                                            \
  NEXT(name);                                                  \
  if (strpbrk(mode, "wa")) {                                   \
    const enum outcome outcome = count(#name, AT_FDCWD, path); \
    if (outcome == kKill) die();                               \
    if (outcome == kFail) return NULL;                         \
  }                                                            \
  return next(path, mode)

FILE* fopen(const char* path, const char* mode) { FOPEN(fopen); }
FILE* fopen64(const char* path, const char* mode) { FOPEN(fopen64); }
