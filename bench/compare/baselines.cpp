#include "bench/compare/baselines.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <system_error>

#include "bench/data/data_folder.h"
#include "estimator/cards.h"
#include "estimator/files/atomic_file.h"
#include "estimator/names.h"
#include "model/errors.h"
#include "model/printable.h"

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

/// The last by date of those that `wanted` takes; one without a date only where there is no other.
/// What is no report of bench is passed over, and said.
std::optional<RunFile> newest(const std::vector<fs::path>& paths, const std::string& field,
                              const std::function<bool(const RunFile&)>& wanted) {
  std::optional<RunFile> last;
  for (const fs::path& path : paths) {
    try {
      RunFile run = read_run(path, field);
      if (wanted(run) && (!last || last->instant() <= run.instant())) last = std::move(run);
    } catch (const BadInput& error) {
      std::cerr << "compare: passed over: " << one_line(error.what(), kLongestMessage) << "\n";
    }
  }
  return last;
}

/// Before `now`, where both say when.
bool is_earlier(const RunFile& run, const RunFile& now) {
  std::error_code error;
  if (fs::equivalent(run.path, now.path, error)) return false;
  return !run.instant() || !now.instant() || *run.instant() <= *now.instant();
}

/// The title of the card that is called so: "h200", "NVIDIA H200".
std::string title_of_card(const std::string& name) {
  for (const Card& card : cards()) {
    if (folded(card.name) == folded(name)) return card.title;
  }
  return name;
}

std::string known(const std::vector<fs::path>& paths) {
  std::set<std::string> names;
  newest(paths, "against", [&](const RunFile& run) {
    names.insert(run.card() + " under " + run.fact("driver"));
    return false;
  });
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list.empty() ? "there are no runs" : "there are " + list;
}

/// As scripts/runs.py names folders.
std::string slug(const std::string& text) {
  std::string name;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool kept = std::isalnum(byte) != 0 || c == '.';
    if (kept) name += static_cast<char>(std::tolower(byte));
    if (!kept && !name.empty() && name.back() != '-') name += '-';
  }
  while (!name.empty() && name.back() == '-') name.pop_back();
  return name;
}

fs::path card_folder(const RunFile& run) {
  return fs::path(slug(run.fact("gpu"))) / slug(run.fact("driver") + "-" + run.fact("cuda"));
}

/// Beside OLD; where that lies in a folder of its card and driver, in NEW's own.
fs::path folder_beside(const RunFile& before, const RunFile& now) {
  fs::path folder = fs::absolute(before.path).lexically_normal().parent_path();
  const fs::path of_driver = folder.parent_path().filename() / folder.filename();
  if (of_driver != card_folder(before)) return folder;
  return folder.parent_path().parent_path() / card_folder(now);
}

std::string file_name(const RunFile& run) {
  constexpr std::size_t kDay = 10;
  constexpr std::size_t kMost = 80;
  return slug(run.fact("date").substr(0, kDay) + "-" + run.fact("commit")).substr(0, kMost);
}

fs::path free_path(const fs::path& folder, const std::string& name) {
  fs::path path = folder / (name + ".json");
  for (int number = 2; fs::exists(path) || fs::exists(ledgers_of(path)); ++number) {
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
  const std::vector<fs::path> paths = runs_below(data_folder("runs"));
  const auto find = [&](const std::function<bool(const RunFile&)>& wanted) {
    return newest(paths, "against",
                  [&](const RunFile& run) { return is_earlier(run, now) && wanted(run); });
  };
  const bool any_driver = against == "newest";
  std::optional<RunFile> run = find([&](const RunFile& c) {
    return c.card() == now.card() && (any_driver || c.fact("driver") == against);
  });
  if (!run && !any_driver) {
    run = find([&](const RunFile& c) { return c.card() == title_of_card(against); });
  }
  if (run) return *std::move(run);
  const std::string what = any_driver ? "run of " + now.card() : "run of '" + against + "'";
  throw BadInput("against: no earlier " + what + "; " + known(paths));
}

fs::path accept(const RunFile& before, const RunFile& now, const fs::path& ledgers) {
  nlohmann::ordered_json json =
      nlohmann::ordered_json::parse(read_text(now.path));  // in the order it was written in
  for (const char* key : kAboutTheHost) json["context"].erase(key);
  const fs::path folder = folder_beside(before, now);
  std::error_code error;
  fs::create_directories(folder, error);
  const fs::path path = free_path(folder, file_name(now));
  // The run comes last: without it, nobody takes its ledgers for anything.
  try {
    AtomicFile file("accept", path);
    if (fs::is_directory(ledgers)) {
      fs::copy(ledgers, ledgers_of(path), fs::copy_options::recursive);
    }
    file.replace(json.dump(2) + "\n");
  } catch (const std::exception& failure) {
    fs::remove_all(ledgers_of(path), error);
    throw std::runtime_error(failure.what());
  }
  return path;
}

fs::path ledgers_of(const fs::path& run) {
  fs::path folder = run;
  return folder.replace_extension(".ledgers");
}

}  // namespace vramfit::bench::compare
