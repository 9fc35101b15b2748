#include "tests/bench/run_bench.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace vramfit::bench {
namespace {

std::string take(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  file.close();
  std::filesystem::remove(path);
  return text.str();
}

}  // namespace

Ended run_bench(const std::string& arguments, const std::string& environment) {
  const auto base = std::filesystem::temp_directory_path() / ("bench." + std::to_string(getpid()));
  const std::string out = base.string() + ".out";
  const std::string err = base.string() + ".err";
  // The default device is the GPU where there is one: hidden, so that tests ask the same
  // everywhere.
  const std::string command = "env CUDA_VISIBLE_DEVICES= " + environment + " '" VRAMFIT_BENCH "' " +
                              arguments + " >'" + out + "' 2>'" + err + "' </dev/null";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, take(out), take(err)};
}

nlohmann::json report_of(const std::string& arguments) {
  const Ended ended = run_bench(arguments + " --benchmark_format=json");
  if (ended.exit != 0) throw std::runtime_error("bench " + arguments + ": " + ended.err);
  return nlohmann::json::parse(ended.out);
}

const nlohmann::json& row_of(const nlohmann::json& report, const std::string& name) {
  for (const auto& row : report.at("benchmarks")) {
    if (row.at("name") == name) return row;
  }
  throw std::runtime_error("no row " + name);
}

int count_of(const std::string& text, const std::string& part) {
  int count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace vramfit::bench
