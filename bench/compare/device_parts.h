#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "bench/compare/comparison.h"

namespace vramfit::bench::compare {

/// What device used is made of beside what the pool reserved.
struct DevicePart {
  const char* counter;
  const char* called;
};
inline constexpr DevicePart kDeviceParts[] = {
    {"mem_context", "context"},
    {"mem_cublaslt", "cuBLASLt"},
    {"mem_cudnn", "cuDNN"},
    {"mem_nccl", "NCCL"},
    {"mem_modules", "modules and whatever allocates behind the pool"},
};

/// A row's counter where both runs have it.
inline const Change* find_both(const RowChange& row, const std::string& counter) {
  const auto change = std::find_if(row.changes.begin(), row.changes.end(),
                                   [&](const Change& c) { return c.counter == counter; });
  const bool both = change != row.changes.end() && change->before && change->after;
  return both ? &*change : nullptr;
}

/// NEW less OLD.
inline std::optional<double> difference(const RowChange& row, const std::string& counter) {
  const Change* change = find_both(row, counter);
  if (change == nullptr) return std::nullopt;
  return *change->after - *change->before;
}

/// What a row's levels begin with: what was measured, where anything was.
inline std::string side_of(const RowChange& row) {
  const bool measured =
      find_both(row, "mem_allocated") != nullptr || find_both(row, "mem_device_used") != nullptr;
  return measured ? "mem_" : "pred_";
}

}  // namespace vramfit::bench::compare
