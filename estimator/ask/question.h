#pragma once

#include <optional>
#include <vector>

#include "estimator/ask/environment.h"
#include "estimator/ask/options.h"
#include "estimator/estimate.h"
#include "estimator/largest.h"

namespace vramfit {

/// The same run, but for one choice. What it would change is worth saying.
struct Alternative {
  std::string choice;  ///< "fp32 weights under --autocast bf16"
  Request request;
};

/// What a command line asks. One request for each card it is about.
struct Question {
  std::vector<Request> requests;
  bool every_card = false;                ///< no card was named, and this machine has none
  const SearchAxis* search = nullptr;     ///< of its runtime; null: nothing is searched for
  bool formulas = false;                  ///< to be set beside it
  bool advise = false;                    ///< what to do where it does not fit
  bool strict = false;                    ///< only what surely fits counts
  Flags flags;                            ///< of the run, its precision among them
  std::vector<Alternative> alternatives;  ///< where one card is asked about, at one size
  std::vector<std::string> assumed;       ///< flags that were not given, of those that matter
  std::string runs_with;                  ///< types and optimizer, and which of them were assumed
};

/// Throws BadInput on a value that is wrong, and on flags that contradict each other.
Question resolve_question(const FitOptions& options, const Environment& environment);
/// The same of a runtime that the table may lack.
Question resolve_question(const FitOptions& options, const Environment& environment,
                          const Runtime& runtime);

}  // namespace vramfit
