#include "bench/quality/log.h"

#include <nlohmann/json.hpp>
#include <string>

#include "model/errors.h"

namespace vramfit::bench {
namespace {

/// Of the lines there are, those up to a step.
std::string lines_up_to(const std::filesystem::path& path, int step) {
  std::ifstream file(path);
  std::string kept;
  for (std::string line; std::getline(file, line);) {
    const nlohmann::json said = nlohmann::json::parse(line, nullptr, false);
    if (!said.is_object() || !said.contains("step")) {
      throw BadInput(path.string() + ": holds other lines than a course's log");
    }
    if (said["step"].get<int>() <= step) kept += line + "\n";
  }
  return kept;
}

}  // namespace

StepLog::StepLog(const std::filesystem::path& path, int after_step) : path_(path) {
  const std::string before = after_step > 0 ? lines_up_to(path, after_step) : "";
  file_.open(path);
  file_ << before << std::flush;
  if (!file_) throw BadInput(path.string() + ": cannot be written");
}

void StepLog::say(const nlohmann::json& line) {
  file_ << line.dump() << std::endl;
  if (!file_) throw std::runtime_error(path_.string() + ": cannot be written");
}

}  // namespace vramfit::bench
