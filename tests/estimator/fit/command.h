#pragma once

#include <string>
#include <vector>

namespace vramfit::fit {

struct Outcome {
  int status;  ///< the exit status, or -1 where a signal ended it
  std::string out;
  std::string err;
};

/// Runs the built `fit`. `environment` is a list of NAME=VALUE; unless that says otherwise there is
/// no GPU on the machine.
Outcome run_fit(const std::vector<std::string>& arguments,
                const std::vector<std::string>& environment = {});

}  // namespace vramfit::fit
