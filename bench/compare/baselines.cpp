#include "bench/compare/baselines.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <system_error>

#include "estimator/data_path.h"
#include "estimator/files/whole_file.h"
#include "estimator/names.h"
#include "model/errors.h"

namespace vramfit::bench::compare {
namespace {

namespace fs = std::filesystem;

/// What Google Benchmark says of the host: it says nothing of the GPU, and names the machine.
constexpr const char* kAboutTheHost[] = {
    "caches",   "cpu_scaling_enabled", "executable", "host_name", "library_build_type",
    "load_avg", "mhz_per_cpu",         "num_cpus"};

/// Comparisons with PyTorch lie beside runs, and are none.
bool is_run(const fs::path& path) {
  return path.extension() == ".json" && !path.filename().string().ends_with("-compare.json");
}

std::vector<fs::path> runs_below(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (const auto& entry : fs::recursive_directory_iterator(folder, error)) {
    if (entry.is_regular_file(error) && is_run(entry.path())) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// The last by date of those that `wanted` takes. Dates are ISO 8601, in one time zone.
std::optional<RunFile> newest(const std::vector<fs::path>& paths, const std::string& field,
                              const std::function<bool(const RunFile&)>& wanted) {
  std::optional<RunFile> last;
  for (const fs::path& path : paths) {
    RunFile run = read_run(path, field);
    if (wanted(run) && (!last || last->fact("date") <= run.fact("date"))) last = std::move(run);
  }
  return last;
}

bool is_itself(const RunFile& run, const RunFile& now) {
  std::error_code error;
  return fs::equivalent(run.path, now.path, error);
}

/// "h200" is called so in "NVIDIA H200".
bool is_called(const std::string& card, const std::string& name) {
  return !folded(name).empty() && folded(card).find(folded(name)) != std::string::npos;
}

std::string known(const std::vector<fs::path>& paths) {
  std::set<std::string> names;
  for (const fs::path& path : paths) {
    const RunFile run = read_run(path, "against");
    names.insert(run.fact("gpu"));
    names.insert(run.fact("driver"));
  }
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list.empty() ? "there are no runs" : list;
}

std::string file_name(const RunFile& run) {
  constexpr std::size_t kDay = 10;
  std::string name = run.fact("date").substr(0, kDay) + "-" + run.fact("commit");
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '/' || c == '\\' || c == ' '; }, '-');
  return name;
}

fs::path free_path(const fs::path& folder, const std::string& name) {
  fs::path path = folder / (name + ".json");
  for (int number = 2; fs::exists(path); ++number) {
    path = folder / (name + "-" + std::to_string(number) + ".json");
  }
  return path;
}

}  // namespace

RunFile run_at(const fs::path& path, const std::string& field) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return read_run(path, field);
  auto run = newest(runs_below(path), field, [](const RunFile&) { return true; });
  if (!run) throw BadInput(field + ": '" + path.string() + "' holds no run; a report of bench");
  return *std::move(run);
}

RunFile baseline(const std::string& against, const RunFile& now) {
  const std::vector<fs::path> paths = runs_below(data_file("runs"));
  const std::string gpu = now.fact("gpu");
  const auto find = [&](const std::function<bool(const RunFile&)>& wanted) {
    return newest(paths, "against",
                  [&](const RunFile& run) { return !is_itself(run, now) && wanted(run); });
  };
  std::optional<RunFile> run;
  if (against == "newest") {
    run = find([&](const RunFile& candidate) { return candidate.fact("gpu") == gpu; });
    if (!run) throw BadInput("against: no earlier run of " + gpu + "; " + known(paths));
    return *std::move(run);
  }
  run = find([&](const RunFile& c) { return c.fact("driver") == against && c.fact("gpu") == gpu; });
  if (!run) run = find([&](const RunFile& c) { return is_called(c.fact("gpu"), against); });
  if (!run)
    throw BadInput("against: no run of '" + against + "'; newest, or one of " + known(paths));
  return *std::move(run);
}

fs::path accept(const RunFile& now, const fs::path& folder) {
  nlohmann::ordered_json json =
      nlohmann::ordered_json::parse(read_text(now.path));  // in the order it was written in
  for (const char* key : kAboutTheHost) json["context"].erase(key);
  std::error_code error;
  fs::create_directories(folder, error);
  const fs::path path = free_path(folder, file_name(now));
  try {
    WholeFile("accept", path).replace(json.dump(2) + "\n");
  } catch (const BadInput& refusal) {
    throw std::runtime_error(refusal.what());
  }
  const fs::path ledgers = ledgers_of(now.path);
  if (fs::is_directory(ledgers, error)) {
    fs::copy(ledgers, ledgers_of(path), fs::copy_options::recursive, error);
    if (error)
      throw std::runtime_error("cannot copy '" + ledgers.string() + "': " + error.message());
  }
  return path;
}

fs::path ledgers_of(const fs::path& run) {
  fs::path folder = run;
  return folder.replace_extension(".ledgers");
}

}  // namespace vramfit::bench::compare
