#include "bench/process/journal.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "model/errors.h"

namespace vramfit::bench {

using Json = nlohmann::json;

Conditions conditions_of(Conditions context, const std::vector<std::string>& flags) {
  std::string& all = context["flags"];
  for (const std::string& flag : flags) all += (all.empty() ? "" : " ") + flag;
  // A commit says which program it was, unless it was built from something else.
  const std::string& commit = context["commit"];
  if (commit == "unknown" || commit.find("-dirty") != std::string::npos) {
    const auto built = std::filesystem::last_write_time("/proc/self/exe").time_since_epoch();
    context["built"] = std::to_string(built.count());
  }
  return context;
}

Journal::Journal(const std::string& path, Conditions conditions, bool resume)
    : conditions_(std::move(conditions)) {
  if (path.empty()) return;
  if (resume) read(path);
  file_.open(path, resume ? std::ios::app : std::ios::trunc);
  if (!file_) throw BadInput("journal: cannot write '" + path + "'; a file in an existing folder");
  if (resume) file_ << "\n";  // a line that was cut short ends here
}

void Journal::read(const std::string& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const Json entry = Json::parse(line, nullptr, false);
    if (!entry.is_object()) continue;
    try {
      if (entry.at("conditions").get<Conditions>() != conditions_) continue;
      results_[entry.at("row")] = from_line(entry.at("result").dump());
    } catch (const Json::exception&) {
      continue;  // not ours
    }
  }
}

const Result* Journal::find(const std::string& row) const {
  const auto found = results_.find(row);
  return found == results_.end() ? nullptr : &found->second;
}

void Journal::add(const std::string& row, const Result& result) {
  if (!file_.is_open() || !result.error.empty()) return;
  const Json entry = {
      {"row", row}, {"conditions", conditions_}, {"result", Json::parse(to_line(result))}};
  file_ << entry.dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
}

}  // namespace vramfit::bench
