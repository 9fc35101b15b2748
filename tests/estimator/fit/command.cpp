#include "tests/estimator/fit/command.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "estimator/fit/program.h"
#include "tests/support/scratch_folder.h"

namespace vramfit::fit {
namespace {

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

}  // namespace

Outcome run_fit(const std::vector<std::string>& arguments,
                const std::vector<std::string>& environment) {
  const ScratchFolder scratch;
  const auto out = scratch / "out";
  const auto err = scratch / "err";
  std::string command = "env -u FAKE_GPU LD_LIBRARY_PATH=" + quoted(FIT_NVML_FOLDER);
  for (const std::string& entry : environment) command += " " + quoted(entry);
  command += " " + quoted(FIT_PROGRAM);
  for (const std::string& argument : arguments) command += " " + quoted(argument);
  command += " >" + quoted(out.string()) + " 2>" + quoted(err.string()) + " </dev/null";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text_of(out), text_of(err)};
}

Outcome call_fit(const std::vector<std::string>& arguments) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int status = run(arguments);
  std::string err = testing::internal::GetCapturedStderr();
  return {status, testing::internal::GetCapturedStdout(), std::move(err)};
}

}  // namespace vramfit::fit
