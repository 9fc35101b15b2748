#include "bench/compare/change_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "model/memory/category.h"
#include "model/quantity.h"

namespace vramfit::bench::compare {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;

struct Part {
  const char* counter;
  const char* called;
};
constexpr Part kParts[] = {
    {"mem_reserved", "reserved"},
    {"mem_context", "context"},
    {"mem_cublaslt", "cuBLASLt"},
    {"mem_cudnn", "cuDNN"},
    {"mem_modules", "modules and whatever allocates behind the pool"},
};
constexpr int kSteps = 2;

const Change* find(const RowChange& row, const std::string& counter) {
  const auto change = std::find_if(row.changes.begin(), row.changes.end(),
                                   [&](const Change& c) { return c.counter == counter; });
  const bool both = change != row.changes.end() && change->before && change->after;
  return both ? &*change : nullptr;
}

/// "first at the end of forward of step 1".
std::string first_stage(const RowChange& row) {
  for (int step = 1; step <= kSteps; ++step) {
    for (const char* stage : kLedgerStageNames) {
      const Change* change = find(row, fmt::format("mem_step{}_{}_device_used", step, stage));
      if (change != nullptr && change->differs) {
        return fmt::format("; first at the end of {} of step {}", stage, step);
      }
    }
  }
  return "";
}

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

std::string device_used_text(const RowChange& row) {
  const Change* used = find(row, "mem_device_used");
  if (used == nullptr || !used->differs) return "";
  std::string parts;
  for (const Part& part : kParts) {
    const Change* change = find(row, part.counter);
    if (change == nullptr || *change->before == *change->after) continue;
    const auto bytes = std::llround(*change->after - *change->before);
    parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", part.called, bytes_change(bytes));
  }
  // Runs from before there were parts have the sum alone.
  if (parts.empty()) parts = "beside reserved";
  return "device used: " + parts + first_stage(row);
}

}  // namespace vramfit::bench::compare
