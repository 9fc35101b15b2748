#include "bench/report/google_flags.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <optional>

#include "model/errors.h"

namespace vramfit::bench {
namespace {

std::string from_environment(const char* variable, const std::string& fallback) {
  const char* value = std::getenv(variable);
  return value != nullptr ? value : fallback;
}

/// The value where `argument` is --`flag`=value.
std::optional<std::string> value_of(const std::string& argument, const std::string& flag) {
  const std::string start = "--" + flag + "=";
  if (argument.compare(0, start.size(), start) != 0) return std::nullopt;
  return argument.substr(start.size());
}

/// Whether a flag's value is true, as Google Benchmark has it: anything that does not say no.
bool is_true(std::string value) {
  std::transform(value.begin(), value.end(), value.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::initializer_list<const char*> no = {"", "0", "f", "n", "false", "no", "off"};
  return std::none_of(no.begin(), no.end(), [&](const char* word) { return value == word; });
}

void require_format(const char* flag, const std::string& value) {
  if (value == "console" || value == "json" || value == "csv") return;
  throw BadInput(std::string(flag) + ": is '" + value + "'; one of console, json, csv");
}

}  // namespace

GoogleFlags parse_google_flags(const std::vector<std::string>& arguments) {
  GoogleFlags flags;
  flags.filter = from_environment("BENCHMARK_FILTER", flags.filter);
  flags.list = is_true(from_environment("BENCHMARK_LIST_TESTS", "no"));
  flags.format = from_environment("BENCHMARK_FORMAT", flags.format);
  flags.out = from_environment("BENCHMARK_OUT", flags.out);
  flags.out_format = from_environment("BENCHMARK_OUT_FORMAT", flags.out_format);
  flags.min_time = std::getenv("BENCHMARK_MIN_TIME") != nullptr;
  for (const std::string& argument : arguments) {
    if (const auto filter = value_of(argument, "benchmark_filter")) {
      flags.filter = *filter;
    } else if (const auto list = value_of(argument, "benchmark_list_tests")) {
      flags.list = is_true(*list);
    } else if (argument == "--benchmark_list_tests") {
      flags.list = true;
    } else {
      if (const auto format = value_of(argument, "benchmark_format")) flags.format = *format;
      if (const auto out = value_of(argument, "benchmark_out")) flags.out = *out;
      if (const auto format = value_of(argument, "benchmark_out_format"))
        flags.out_format = *format;
      flags.min_time |= value_of(argument, "benchmark_min_time").has_value();
      flags.pass_on.push_back(argument);
    }
  }
  require_format("benchmark_format", flags.format);
  require_format("benchmark_out_format", flags.out_format);
  return flags;
}

void require_writable(const std::string& path) {
  if (path.empty() || std::ofstream(path, std::ios::app)) return;
  throw BadInput("benchmark_out: cannot write '" + path + "'; a file in an existing folder");
}

}  // namespace vramfit::bench
