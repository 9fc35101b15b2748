// What GCC's C++ library asks of a C library from 2.32 and 2.36 on, for those that are older.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/types.h>

// 0: there may be threads, so that counts are atomic.
char __libc_single_threaded = 0;

uint32_t arc4random(void) {
  uint32_t word = 0;
  if (getrandom(&word, sizeof word, 0) != (ssize_t)sizeof word) abort();
  return word;
}
