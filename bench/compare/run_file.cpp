#include "bench/compare/run_file.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "bench/counters/counter.h"
#include "estimator/cards.h"
#include "model/config/json_reader.h"
#include "model/errors.h"
#include "model/printable.h"
#include "model/text_file.h"

namespace vramfit::bench::compare {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostBytes = std::size_t{256} << 20;
constexpr const char* kExpected = "a report of bench (--benchmark_out)";
/// Of all schemas so far; "within one, keys are only added".
constexpr const char* kSchemas[] = {"1"};

/// What Google Benchmark writes into a row beside counters.
constexpr const char* kOwnNumbers[] = {"family_index", "per_family_instance_index",
                                       "repetitions",  "repetition_index",
                                       "threads",      "iterations",
                                       "cpu_time"};

std::string text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

bool is_own_number(const std::string& key) {
  return std::any_of(std::begin(kOwnNumbers), std::end(kOwnNumbers),
                     [&](const char* own) { return key == own; });
}

/// Of a virtual card the title that the driver would call it by, so that it is the measured one's.
std::string title_of(const std::string& device) {
  const std::string prefix = "virtual:";
  if (!device.starts_with(prefix)) return device;
  const std::string name = device.substr(prefix.size());
  for (const Card& card : cards()) {
    if (card.name == name) return card.title;
  }
  return device;
}

/// "measured, cuda:0 NVIDIA H200 as rtx4090; …" is of "NVIDIA H200 as rtx4090"; "predicted,
/// virtual:h200" of "NVIDIA H200".
std::string card_in(const std::string& label, const RunFile& run) {
  const std::size_t start = label.find(", ");
  const std::string device =
      start == std::string::npos
          ? run.fact("device")
          : label.substr(start + 2, label.find_first_of(";,", start + 2) - start - 2);
  const std::string gpu = run.fact("gpu");
  if (!label.starts_with("measured") || gpu == "none") return title_of(device);
  const std::size_t as = device.find(" as ");
  return gpu + (as == std::string::npos ? "" : device.substr(as));
}

ReportRow row_of(const Json& json, const std::string& name, const RunFile& run) {
  ReportRow row;
  row.name = name;
  std::string label = text_of(json, "label");
  if (!label.starts_with("measured") && !label.starts_with("predicted"))
    label = run.fact("evidence");
  row.measured = label.starts_with("measured");
  row.card = card_in(label, run);
  return row;
}

/// Seconds, whatever the unit.
double seconds_of(const Json& json, double time) {
  const std::string unit = text_of(json, "time_unit");
  if (unit == "s") return time;
  if (unit == "ms") return time * 1e-3;
  return unit == "us" ? time * 1e-6 : time * 1e-9;
}

/// A run whose first tensor found no room has taken nothing.
bool is_in(Range range, double number, bool ran_out) {
  if (range == Range::Positive) return number > 0 || (ran_out && number == 0);
  return range == Range::Any || number >= 0;
}

/// What stands in a figure's place and is none would be passed over, and what it hides with it.
void require_figure(const std::string& key, const Json& value, bool ran_out, const std::string& row,
                    const std::string& source) {
  const Counter counter = counter_called(key);
  if (counter.kind == Kind::Stated) return;
  if (value.is_number() && is_in(counter.range, value.get<double>(), ran_out)) return;
  constexpr const char* kWanted[] = {"a number", "a number, 0 at least", "a number above 0"};
  throw BadInput(source + ": " + row + ": " + printable(key) + ": is " +
                 value.dump(-1, ' ', true, Json::error_handler_t::replace) + "; " +
                 kWanted[static_cast<std::size_t>(counter.range)]);
}

void add_figures(ReportRow& row, const Json& json, const std::string& source) {
  const auto is_set = [&](const char* key) {
    const auto flag = json.find(key);
    return flag != json.end() && !flag->is_null() && *flag != Json(false);
  };
  if (is_set("error_occurred") || is_set("skipped")) {
    row.error = text_of(json, "error_message") + text_of(json, "skip_message");
    row.error = row.error.empty() ? "failed" : printable(row.error);
    return;
  }
  for (const auto& [key, value] : json.items()) {
    require_figure(key, value, is_set("oom") && json.at("oom") != 0, row.name, source);
    if (!value.is_number() || is_own_number(key)) continue;
    const double number = value.get<double>();
    if (!std::isfinite(number)) continue;
    row.counters[printable(key)].push_back(key == "real_time" ? seconds_of(json, number) : number);
  }
  if (row.counters.empty()) {
    throw BadInput(source + ": " + row.name + ": has no counters; " + kExpected);
  }
}

/// Repetitions have one name. Of aggregates only the median stands for a row, where no repetition
/// was kept.
void add_rows(RunFile& run, const Json& benchmarks, const std::string& source) {
  std::map<std::string, std::size_t> known;
  const auto add = [&](const Json& json) {
    std::string name = text_of(json, "run_name");
    if (name.empty()) name = text_of(json, "name");
    if (name.empty()) throw BadInput(source + ": benchmarks: a row has no name; " + kExpected);
    name = printable(name);
    const auto [it, fresh] = known.emplace(name, run.rows.size());
    if (fresh) run.rows.push_back(row_of(json, name, run));
    add_figures(run.rows[it->second], json, source);
  };
  for (const Json& json : benchmarks) {
    if (!json.is_object())
      throw BadInput(source + ": benchmarks: a row is no object; " + kExpected);
    if (text_of(json, "run_type") != "aggregate") add(json);
  }
  std::map<std::string, std::size_t> repetitions = known;
  for (const Json& json : benchmarks) {
    if (text_of(json, "run_type") == "aggregate" && text_of(json, "aggregate_name") == "median" &&
        repetitions.count(text_of(json, "run_name")) == 0) {
      add(json);
    }
  }
}

void read_profile(RunFile& run, const Json& context) {
  const auto profile = context.find("profile");
  if (profile == context.end() || !profile->is_object()) return;
  const auto overhead = profile->find("overhead");
  if (overhead == profile->end() || !overhead->is_object()) return;
  for (const auto& [part, value] : overhead->items()) {
    if (!value.is_object()) continue;
    const auto bytes = value.find("bytes");
    if (bytes != value.end() && bytes->is_number_unsigned()) run.overhead[printable(part)] = *bytes;
  }
}

}  // namespace

const ReportRow* RunFile::find(const std::string& name) const {
  const auto row = std::find_if(rows.begin(), rows.end(),
                                [&](const ReportRow& candidate) { return candidate.name == name; });
  return row == rows.end() ? nullptr : &*row;
}

std::string RunFile::fact(const std::string& key) const {
  const auto found = context.find(key);
  return found == context.end() ? "none" : found->second;
}

std::string RunFile::card() const {
  return fact("gpu") == "none" ? title_of(fact("device")) : fact("gpu");
}

std::optional<std::int64_t> RunFile::instant() const {
  int year = 0;
  unsigned month = 0;
  unsigned day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
  char sign = '+';
  int ahead_hours = 0;
  int ahead_minutes = 0;
  const int fields =
      std::sscanf(fact("date").c_str(), "%4d-%2u-%2uT%2d:%2d:%2d%c%2d:%2d", &year, &month, &day,
                  &hour, &minute, &second, &sign, &ahead_hours, &ahead_minutes);
  constexpr int kWithoutZone = 6;
  if (fields < kWithoutZone) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month),
                                         std::chrono::day(day)};
  if (!date.ok()) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  const std::int64_t ahead = (ahead_hours * 60 + ahead_minutes) * (sign == '-' ? -60 : 60);
  return ((days * 24 + hour) * 60 + minute) * 60 + second - ahead;
}

RunFile read_run(const std::filesystem::path& path, const std::string& field) {
  const std::string source = path.string();
  const Json object = parse_json_object(read_text_file(path, field.c_str(), kExpected, kMostBytes),
                                        source, kExpected);
  const auto context = object.find("context");
  const auto benchmarks = object.find("benchmarks");
  if (context == object.end() || !context->is_object() || benchmarks == object.end() ||
      !benchmarks->is_array()) {
    throw BadInput(source + ": has no context and benchmarks; " + kExpected);
  }
  RunFile run;
  run.path = path;
  for (const auto& [key, value] : context->items()) {
    if (value.is_string()) run.context[printable(key)] = printable(value.get<std::string>());
  }
  const std::string schema = run.fact("schema_version");
  if (std::find(std::begin(kSchemas), std::end(kSchemas), schema) == std::end(kSchemas)) {
    throw BadInput(source + ": schema_version: is '" + schema +
                   "'; the text \"1\", as bench writes");
  }
  read_profile(run, *context);
  add_rows(run, *benchmarks, source);
  return run;
}

}  // namespace vramfit::bench::compare
