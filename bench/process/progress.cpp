#include "bench/process/progress.h"

#include <cmath>
#include <iostream>

namespace vramfit::bench {

std::string time_left(double seconds) {
  const long whole = std::lround(seconds);
  if (whole < 60) return "about " + std::to_string(whole) + " s left";
  return "about " + std::to_string(whole / 60) + " min " + std::to_string(whole % 60) + " s left";
}

void Progress::begin(const std::string& row) {
  std::cerr << "bench: " << done_ + 1 << " of " << rows_ << ", ";
  if (measured_ > 0) std::cerr << time_left(seconds_ / measured_ * (rows_ - done_)) << ", ";
  std::cerr << row << std::endl;
  began_ = Clock::now();
}

void Progress::end(bool known) {
  ++done_;
  if (known) return;
  ++measured_;
  seconds_ += std::chrono::duration<double>(Clock::now() - began_).count();
}

}  // namespace vramfit::bench
