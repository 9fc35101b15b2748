#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/report/google_values.h"

namespace vramfit::bench {

/// Google Benchmark's flags that rows' names, lists and reports depend on. All others pass through.
struct GoogleFlags {
  std::string filter;
  bool list = false;
  std::string format = "console";
  std::string out;  ///< a file; "" for none
  std::string out_format = "json";
  std::optional<MinTime> min_time;
  std::vector<std::string> context_keys;

  std::vector<std::string> pass_on;  ///< for benchmark::Initialize
};

/// Reads them as Google Benchmark does, "--name=value", after its environment variables. Throws
/// BadInput on values that it cannot have, whichever flag's.
GoogleFlags parse_google_flags(const std::vector<std::string>& arguments);

}  // namespace vramfit::bench
