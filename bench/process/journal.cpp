#include "bench/process/journal.h"

#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "bench/data/data_folder.h"
#include "model/errors.h"

namespace vramfit::bench {

using Json = nlohmann::json;

Journal::Journal(const std::string& path, bool resume) {
  if (path.empty()) return;
  file_ = std::make_unique<WritableFile>("journal", path, path);
  if (!file_->is_regular()) {
    if (resume) throw BadInput("resume: the journal '" + path + "' is no regular file");
  } else if (resume) {
    read(path);
  } else {
    file_->clear();
  }
}

void Journal::read(const std::string& path) {
  const std::string text = read_text(path);
  if (!text.empty() && text.back() != '\n') file_->append("\n");  // the line was cut short
  std::istringstream lines(text);
  int number = 0;
  std::vector<int> damaged;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (!line.empty() && !read_line(line)) damaged.push_back(number);
  }
  if (damaged.empty()) return;
  std::cerr << "bench: journal: " << damaged.size() << " damaged "
            << (damaged.size() == 1 ? "line" : "lines") << " of '" << path
            << "' skipped, from line " << damaged.front() << " on\n";
}

bool Journal::read_line(const std::string& line) {
  try {
    const Json entry = Json::parse(line);
    Result result = from_json(entry.at("result"));
    if (!result.error.empty()) return false;
    results_[{entry.at("row"), entry.at("conditions").get<Conditions>()}] = std::move(result);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

const Result* Journal::find(const std::string& row, const Conditions& conditions) const {
  const auto found = results_.find({row, conditions});
  return found == results_.end() ? nullptr : &found->second;
}

void Journal::add(const std::string& row, const Conditions& conditions, const Result& result) {
  if (!file_ || !result.error.empty()) return;
  const Json entry = {
      {"row", row}, {"conditions", conditions}, {"result", Json::parse(to_line(result))}};
  file_->append(entry.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace vramfit::bench
