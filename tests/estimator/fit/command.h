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

/// The same within this process, hundreds of times faster: what it is asked is no business of the
/// process, its GPU or its environment.
Outcome call_fit(const std::vector<std::string>& arguments);

}  // namespace vramfit::fit
