#include "bench/compare/change_text.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "bench/compare/device_parts.h"
#include "model/memory/category.h"
#include "model/quantity.h"

namespace vramfit::bench::compare {
namespace {

constexpr double kKiB = 1024;
constexpr double kMiB = 1024 * kKiB;
constexpr double kGiB = 1024 * kMiB;

constexpr int kSteps = 2;

/// "first at the end of forward of step 1".
std::string first_stage(const RowChange& row) {
  for (int step = 1; step <= kSteps; ++step) {
    for (const char* stage : kLedgerStageNames) {
      const Change* change = find_both(row, fmt::format("mem_step{}_{}_device_used", step, stage));
      if (change != nullptr && change->differs) {
        return fmt::format("; first at the end of {} of step {}", stage, step);
      }
    }
  }
  return "";
}

}  // namespace

std::string short_change(std::int64_t bytes) {
  const auto size = static_cast<double>(bytes);
  if (std::abs(size) < kKiB) return fmt::format("{:+} B", bytes);
  if (std::abs(size) < kMiB) return fmt::format("{:+.2f} KiB", size / kKiB);
  if (std::abs(size) < kGiB) return fmt::format("{:+.2f} MiB", size / kMiB);
  return fmt::format("{:+.2f} GiB", size / kGiB);
}

std::string bytes_change(std::int64_t bytes) {
  const std::string exact = (bytes > 0 ? "+" : "") + grouped(bytes) + " B";
  return std::abs(bytes) < 1024 ? exact : exact + " (" + short_change(bytes) + ")";
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

std::string device_used_text(const RowChange& row) {
  const Change* used = find_both(row, "mem_device_used");
  if (used == nullptr || !used->differs) return "";
  std::string parts;
  const auto add = [&](const char* counter, const char* called) {
    const auto bytes = std::llround(difference(row, counter).value_or(0));
    if (bytes == 0) return;
    parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", called, bytes_change(bytes));
  };
  add("mem_reserved", "reserved");
  for (const DevicePart& part : kDeviceParts) add(part.counter, part.called);
  // Runs from before there were parts have the sum alone.
  if (parts.empty()) parts = "beside reserved";
  return "device used: " + parts + first_stage(row);
}

}  // namespace vramfit::bench::compare
