#include "bench/compare/figures.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

namespace vramfit::bench::compare {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;

}  // namespace

std::string grouped(double whole) {
  std::string text = fmt::format("{:.0f}", whole);
  const std::size_t first = text.front() == '-' ? 1 : 0;
  for (std::size_t at = text.size(); at > first + 3;) {
    at -= 3;
    text.insert(at, 1, ',');
  }
  return text;
}

std::string bytes_change(std::int64_t bytes) {
  const auto size = static_cast<double>(bytes);
  const std::string exact = (bytes > 0 ? "+" : "") + grouped(size) + " B";
  return std::abs(bytes) < 1024 ? exact : fmt::format("{} ({:+.2f} MiB)", exact, size / kMiB);
}

std::string value_text(const Change& change, const std::optional<double>& value) {
  if (!value) return "-";
  return change.kind == Kind::Time ? fmt::format("{:.4g}", *value) : grouped(*value);
}

std::string change_text(const Change& change) {
  if (!change.before) return "new";
  if (!change.after) return "gone";
  const double difference = *change.after - *change.before;
  if (change.kind == Kind::Time) {
    return *change.before == 0 ? "" : fmt::format("{:+.1f} %", 100 * difference / *change.before);
  }
  if (is_bytes(change.kind)) return bytes_change(std::llround(difference));
  return (difference > 0 ? "+" : "") + grouped(difference);
}

}  // namespace vramfit::bench::compare
