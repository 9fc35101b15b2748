#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace vramfit::bench {

/// --benchmark_min_time: so long, "0.5s" or "0.5", or so many iterations, "100x".
struct MinTime {
  std::optional<double> seconds = {};
  std::optional<std::int64_t> iterations = {};
};
/// `called`: in messages. Throws BadInput. Older releases of Google Benchmark know the plain number
/// alone, so that it is read here for all.
MinTime parse_min_time(const std::string& called, const std::string& value);

/// Throws BadInput where a flag of Google Benchmark, "benchmark_repetitions", cannot have this
/// value: it would take some for others, and others have no end. Flags that are not known here
/// pass. `called` is the flag in messages.
void require_google_value(const std::string& flag, const std::string& value,
                          const std::string& called);

/// The same for the values that its environment variables give.
void require_google_environment();

}  // namespace vramfit::bench
