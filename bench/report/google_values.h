#pragma once

#include <string>

namespace vramfit::bench {

/// Throws BadInput where a flag of Google Benchmark, "benchmark_repetitions", cannot have this
/// value: it would take some for others, and others have no end. Flags that are not known here
/// pass. `called` is the flag in messages.
void require_google_value(const std::string& flag, const std::string& value,
                          const std::string& called);

/// The same for the values that its environment variables give.
void require_google_environment();

}  // namespace vramfit::bench
