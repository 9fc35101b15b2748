#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "estimator/estimate.h"
#include "estimator/fit/options.h"

namespace vramfit::fit {

/// What is searched for, if anything.
enum class Search : std::uint8_t { None, Batch, Seq };

/// What a command line asks. One request for each card it is about.
struct Question {
  std::vector<Request> requests;
  bool every_card = false;  ///< no card was named, and this machine has none
  Search search = Search::None;
};

/// Throws BadInput on a value that is wrong, and on flags that contradict each other. `this_gpu` is
/// asked only where no card is named.
Question understand(const Options& options, const std::function<std::optional<Budget>()>& this_gpu);

}  // namespace vramfit::fit
