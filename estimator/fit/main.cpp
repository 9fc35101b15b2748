#include "estimator/fit/program.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace {

/// A search makes and drops the same few megabytes thousands of times, which glibc would give back
/// to the kernel each time.
void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int kKept = 1 << 25;  // bytes; the most that its own thresholds grow to
  mallopt(M_MMAP_THRESHOLD, kKept);
  mallopt(M_TRIM_THRESHOLD, kKept);
#endif
}

}  // namespace

int main(int argc, char** argv) {
  keep_freed_memory();
  return vramfit::fit::run({argv + (argc > 0 ? 1 : 0), argv + argc});
}
