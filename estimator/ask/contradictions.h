#pragma once

#include "estimator/ask/options.h"
#include "runtimes/runtime.h"

// Flags that contradict each other, the task or the runtime: said in one line, before anything
// runs.
namespace vramfit {

/// Throws BadInput.
void refuse_contradictions(const FitOptions& options, const Runtime& runtime);

/// The same of what is about one run, allocation by allocation, where all cards are asked about or
/// sizes are searched for.
void refuse_strange_timelines(const FitOptions& options, const Runtime& runtime, bool every_card);

/// What is searched for; null: nothing. Throws BadInput where the runtime has no such search.
const SearchAxis* search_of(const FitOptions& options, const Runtime& runtime);

}  // namespace vramfit
