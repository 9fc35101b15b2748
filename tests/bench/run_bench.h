#pragma once

#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <string>

namespace vramfit::bench {

/// What the program `bench` did.
struct Ended {
  int exit;
  std::string out;
  std::string err;
};

/// It while it runs, with these arguments as a shell would read them. `environment` is "NAME=value
/// …".
class RunningBench {
 public:
  explicit RunningBench(const std::string& arguments, const std::string& environment = "");
  /// Sends it a signal.
  void send(int signal) const;
  /// What it printed so far.
  std::string out() const;
  /// Its end; to be called once. An exit code of 128 and more is that of a signal, as shells have
  /// it.
  Ended wait();

 private:
  std::string base_;  ///< of the files that its output goes to
  pid_t process_ = 0;
};

/// Runs it to its end.
Ended run_bench(const std::string& arguments, const std::string& environment = "");

/// Its JSON report. Throws where that is not JSON: NaN is none.
nlohmann::json report_of(const std::string& arguments);

/// The row of that name; throws where there is none.
const nlohmann::json& row_of(const nlohmann::json& report, const std::string& name);

/// How often `part` is in `text`.
int count_of(const std::string& text, const std::string& part);

}  // namespace vramfit::bench
