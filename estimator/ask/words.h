#pragma once

#include <string>

#include "estimator/ask/options.h"

namespace vramfit {

/// Takes a word of a command line that belongs to no flag for what it can be: a card ("4090",
/// "24GB"), a GGUF file, a size ("7B"), else a model. Throws BadInput where all of that is said.
void place_word(const std::string& word, FitOptions& options);

}  // namespace vramfit
