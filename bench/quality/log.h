#pragma once

#include <filesystem>
#include <fstream>
#include <nlohmann/json_fwd.hpp>

namespace vramfit::bench {

/// Lines of JSON, each of a step, which are in the file as soon as they are said.
class StepLog {
 public:
  /// Goes on behind a step: what an earlier stretch said of later ones is dropped. Throws BadInput
  /// where the file cannot be written, or what it holds was not said by this.
  StepLog(const std::filesystem::path& path, int after_step);

  void say(const nlohmann::json& line);

 private:
  std::filesystem::path path_;
  std::ofstream file_;
};

}  // namespace vramfit::bench
