#pragma once

#include <chrono>
#include <string>

namespace vramfit::bench {

/// Says on stderr which row is next and how long the rest will take, by the rows so far.
class Progress {
 public:
  explicit Progress(int rows) : rows_(rows) {}

  void begin(const std::string& row);
  /// `known`: the row came from the journal, and its time says nothing about the others.
  void end(bool known);

 private:
  using Clock = std::chrono::steady_clock;
  int rows_;
  int done_ = 0;
  int measured_ = 0;
  double seconds_ = 0;  ///< that the measured ones took
  Clock::time_point began_;
};

/// "about 3 min 20 s left".
std::string time_left(double seconds);

}  // namespace vramfit::bench
