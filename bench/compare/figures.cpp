#include "bench/compare/figures.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "model/quantity.h"

namespace vramfit::bench::compare {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;

}  // namespace

std::string bytes_change(std::int64_t bytes) {
  const std::string exact = (bytes > 0 ? "+" : "") + grouped(bytes) + " B";
  return std::abs(bytes) < 1024
             ? exact
             : fmt::format("{} ({:+.2f} MiB)", exact, static_cast<double>(bytes) / kMiB);
}

std::string value_text(const Change& change, const std::optional<double>& value) {
  if (!value) return "-";
  return is_whole(change.kind) ? grouped(std::llround(*value)) : fmt::format("{:.4g}", *value);
}

std::string change_text(const Change& change) {
  if (!change.before) return "new";
  if (!change.after) return "gone";
  const double difference = *change.after - *change.before;
  if (!is_whole(change.kind)) {
    return *change.before == 0 ? "" : fmt::format("{:+.1f} %", 100 * difference / *change.before);
  }
  if (is_bytes(change.kind)) return bytes_change(std::llround(difference));
  return (difference > 0 ? "+" : "") + grouped(std::llround(difference));
}

}  // namespace vramfit::bench::compare
