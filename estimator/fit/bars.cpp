#include "estimator/fit/bars.h"

#include <fmt/format.h>

#include <algorithm>

#include "estimator/fit/terminal.h"

namespace vramfit::fit {
namespace {

constexpr std::uint64_t kMostMarks = 56;
constexpr std::uint64_t kBefore = 41;  ///< columns of a row before its bar
constexpr std::uint64_t kSmallestUnit = 100'000;

}  // namespace

Bars::Bars(std::uint64_t largest)
    : marks_(std::min<std::uint64_t>(kMostMarks, columns() - kBefore)), unit_(kSmallestUnit) {
  // 1, 2, 5, 10, 20, …
  for (int i = 0; largest / unit_ > marks_; ++i) unit_ = i % 3 == 1 ? unit_ / 2 * 5 : unit_ * 2;
}

std::string Bars::bar(std::uint64_t bytes, char mark) const {
  const std::uint64_t marks = bytes / unit_;
  if (marks <= marks_) return std::string(marks, mark);
  return std::string(marks_ - 1, mark) + ">";
}

std::string Bars::legend() const {
  return fmt::format("# = {:g} GB", static_cast<double>(unit_) / 1e9);
}

}  // namespace vramfit::fit
