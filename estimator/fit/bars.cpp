#include "estimator/fit/bars.h"

#include <fmt/format.h>

namespace vramfit::fit {
namespace {

constexpr std::uint64_t kMarks = 56;
constexpr std::uint64_t kSmallestUnit = 100'000;

}  // namespace

Bars::Bars(std::uint64_t largest) : unit_(kSmallestUnit) {
  // 1, 2, 5, 10, 20, …
  for (int i = 0; largest / unit_ > kMarks; ++i) unit_ = i % 3 == 1 ? unit_ / 2 * 5 : unit_ * 2;
}

std::string Bars::bar(std::uint64_t bytes, char mark) const {
  const std::uint64_t marks = bytes / unit_;
  if (marks <= kMarks) return std::string(marks, mark);
  return std::string(kMarks - 1, mark) + ">";
}

std::string Bars::legend() const {
  return fmt::format("# = {:g} GB", static_cast<double>(unit_) / 1e9);
}

}  // namespace vramfit::fit
