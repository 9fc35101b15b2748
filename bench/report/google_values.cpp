#include "bench/report/google_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <vector>

#include "bench/rows/list.h"
#include "model/errors.h"
#include "model/printable.h"
#include "model/quantity.h"

namespace vramfit::bench {
namespace {

constexpr double kMostSeconds = 3600;
constexpr std::int64_t kMostRepetitions = 10'000;
constexpr std::int64_t kMostIterations = 1'000'000'000;
constexpr std::int64_t kMostVerbosity = 9;

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

void one_of(const std::string& called, const std::string& value, const std::string& words) {
  const std::vector<std::string> list = split(words);
  if (std::find(list.begin(), list.end(), value) != list.end()) return;
  throw BadInput(called + ": is '" + value + "'; one of " + words);
}

void boolean(const std::string& called, const std::string& value) {
  one_of(called, lower(value), "true,false,yes,no,on,off,t,f,y,n,1,0");
}

void color(const std::string& called, const std::string& value) {
  one_of(called, lower(value), "auto,true,false,yes,no,on,off,t,f,y,n,1,0");
}

void format(const std::string& called, const std::string& value) {
  one_of(called, value, "console,json,csv");
}

void time_unit(const std::string& called, const std::string& value) {
  one_of(called, value, "ns,us,ms,s");
}

void seconds(const std::string& called, const std::string& value) {
  parse_number(called, value, 0, kMostSeconds);
}

void min_time(const std::string& called, const std::string& value) {
  parse_min_time(called, value);
}

void repetitions(const std::string& called, const std::string& value) {
  parse_whole(called, value, 1, kMostRepetitions);
}

void verbosity(const std::string& called, const std::string& value) {
  parse_whole(called, value, 0, kMostVerbosity);
}

void pairs(const std::string& called, const std::string& value) {
  for (const std::string& part : split(value)) {
    const std::vector<std::string> pair = split(part, '=');
    const bool whole = pair.size() == 2 && !pair.front().empty() && !pair.back().empty();
    if (whole && printable(part) == part) continue;
    throw BadInput(fmt::format("{}: is '{}'; key=value, with commas between them", called, value));
  }
}

using Check = void (*)(const std::string& called, const std::string& value);

const std::map<std::string, Check>& checks() {
  static const std::map<std::string, Check> list = {
      {"benchmark_color", color},
      {"benchmark_context", pairs},
      {"benchmark_counters_tabular", boolean},
      {"benchmark_display_aggregates_only", boolean},
      {"benchmark_enable_random_interleaving", boolean},
      {"benchmark_format", format},
      {"benchmark_list_tests", boolean},
      {"benchmark_min_time", min_time},
      {"benchmark_min_warmup_time", seconds},
      {"benchmark_out_format", format},
      {"benchmark_repetitions", repetitions},
      {"benchmark_report_aggregates_only", boolean},
      {"benchmark_time_unit", time_unit},
      {"v", verbosity},
  };
  return list;
}

}  // namespace

MinTime parse_min_time(const std::string& called, const std::string& value) {
  const std::string number = value.substr(0, value.empty() ? 0 : value.size() - 1);
  if (value.ends_with('x')) {
    return {.iterations = parse_whole(called, number, 1, kMostIterations)};
  }
  const double seconds =
      parse_number(called, value.ends_with('s') ? number : value, 0, kMostSeconds);
  // The library takes none, and says so by ending the program.
  if (seconds == 0) {
    throw BadInput(fmt::format("{}: is '{}'; more than 0 seconds, or 1x", called, value));
  }
  return {.seconds = seconds};
}

void require_google_value(const std::string& flag, const std::string& value,
                          const std::string& called) {
  const auto check = checks().find(flag);
  if (check != checks().end()) check->second(called, value);
}

void require_google_environment() {
  for (const auto& [flag, check] : checks()) {
    if (flag == "v") continue;  // its variable would be V, which others have
    const std::string variable = upper(flag);
    if (const char* value = std::getenv(variable.c_str())) check(variable, value);
  }
}

}  // namespace vramfit::bench
