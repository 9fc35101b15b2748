#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "bench/rows/counters.h"
#include "model/memory/kept_ledger.h"

namespace vramfit::bench {

/// A row's outcome.
struct Result {
  Counters counters;
  std::string label;
  double seconds = 0;                     ///< that its run took
  std::string error;                      ///< why there is nothing above; "" otherwise
  std::optional<KeptLedger> ledger = {};  ///< where the case keeps it; no part of a line
};

/// The result of a row that failed.
Result failure(const std::string& why);

/// As JSON on one line, and back. Throw BadInput where it is none.
std::string to_line(const Result& result);
Result from_line(const std::string& line);
Result from_json(const nlohmann::json& json);

}  // namespace vramfit::bench
