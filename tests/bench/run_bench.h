#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace vramfit::bench {

/// What the program `bench` did.
struct Ended {
  int exit;
  std::string out;
  std::string err;
};

/// Runs it with these arguments, as a shell would read them. `environment` is "NAME=value …".
Ended run_bench(const std::string& arguments, const std::string& environment = "");

/// Its JSON report. Throws where that is not JSON: NaN is none.
nlohmann::json report_of(const std::string& arguments);

/// The row of that name; throws where there is none.
const nlohmann::json& row_of(const nlohmann::json& report, const std::string& name);

/// How often `part` is in `text`.
int count_of(const std::string& text, const std::string& part);

}  // namespace vramfit::bench
