#include "tests/bench/run_bench.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "tests/support/scratch_folder.h"

namespace vramfit::bench {
namespace {

std::string take(const std::string& path) {
  std::string text = text_of(path);
  std::filesystem::remove(path);
  return text;
}

}  // namespace

RunningBench::RunningBench(const std::string& arguments, const std::string& environment) {
  static int started = 0;
  const auto folder = std::filesystem::temp_directory_path();
  base_ = folder / ("bench." + std::to_string(getpid()) + "." + std::to_string(++started));
  // The default device is the GPU where there is one: hidden, so that tests ask the same
  // everywhere.
  std::string command = "exec >'" + base_ + ".out' 2>'" + base_ + ".err' </dev/null; " +
                        "exec env CUDA_VISIBLE_DEVICES= " + environment + " '" VRAMFIT_BENCH "' " +
                        arguments;
  std::string shell = "/bin/sh";
  std::string flag = "-c";
  char* const argv[] = {shell.data(), flag.data(), command.data(), nullptr};
  if (posix_spawn(&process_, shell.c_str(), nullptr, nullptr, argv, environ) != 0) {
    throw std::runtime_error("cannot start " + command);
  }
}

void RunningBench::send(int signal) const { kill(process_, signal); }

std::string RunningBench::out() const { return text_of(base_ + ".out"); }

Ended RunningBench::wait() {
  int status = 0;
  while (waitpid(process_, &status, 0) < 0) {
    if (errno != EINTR) throw std::runtime_error("waitpid");
  }
  const int exit = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return {exit, take(base_ + ".out"), take(base_ + ".err")};
}

Ended run_bench(const std::string& arguments, const std::string& environment) {
  return RunningBench(arguments, environment).wait();
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
