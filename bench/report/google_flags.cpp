#include "bench/report/google_flags.h"

#include <cstdlib>
#include <optional>

#include "bench/report/google_values.h"
#include "bench/rows/list.h"

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

/// Whether a boolean flag's value, one that it can have, says yes: "true", "Yes", "on", "1", "t".
bool is_true(const std::string& value) {
  return std::string("tTyY1").find(value.front()) != std::string::npos || value.substr(1) == "n" ||
         value.substr(1) == "N";
}

/// Of "key=value,key=value".
std::vector<std::string> keys_of(const std::string& pairs) {
  std::vector<std::string> keys;
  for (const std::string& pair : split(pairs)) keys.push_back(split(pair, '=').front());
  return keys;
}

/// Of "--flag=value".
void require_value(const std::string& argument) {
  const std::size_t equals = argument.find('=');
  if (argument.rfind("--", 0) != 0 || equals == std::string::npos) return;
  const std::string flag = argument.substr(2, equals - 2);
  require_google_value(flag, argument.substr(equals + 1), flag);
}

}  // namespace

GoogleFlags parse_google_flags(const std::vector<std::string>& arguments) {
  require_google_environment();
  GoogleFlags flags;
  flags.filter = from_environment("BENCHMARK_FILTER", flags.filter);
  flags.list = is_true(from_environment("BENCHMARK_LIST_TESTS", "no"));
  flags.format = from_environment("BENCHMARK_FORMAT", flags.format);
  flags.out = from_environment("BENCHMARK_OUT", flags.out);
  flags.out_format = from_environment("BENCHMARK_OUT_FORMAT", flags.out_format);
  constexpr const char* kMinTime = "BENCHMARK_MIN_TIME";
  if (const char* value = std::getenv(kMinTime)) flags.min_time = parse_min_time(kMinTime, value);
  for (const std::string& argument : arguments) {
    require_value(argument);
    if (const auto filter = value_of(argument, "benchmark_filter")) {
      flags.filter = *filter;
    } else if (const auto list = value_of(argument, "benchmark_list_tests")) {
      flags.list = is_true(*list);
    } else if (argument == "--benchmark_list_tests") {
      flags.list = true;
    } else if (const auto out = value_of(argument, "benchmark_out")) {
      flags.out = *out;
    } else if (const auto time = value_of(argument, "benchmark_min_time")) {
      flags.min_time = parse_min_time("benchmark_min_time", *time);
    } else {
      if (const auto format = value_of(argument, "benchmark_format")) flags.format = *format;
      if (const auto format = value_of(argument, "benchmark_out_format"))
        flags.out_format = *format;
      if (const auto context = value_of(argument, "benchmark_context")) {
        flags.context_keys = keys_of(*context);
      }
      flags.pass_on.push_back(argument);
    }
  }
  return flags;
}

}  // namespace vramfit::bench
