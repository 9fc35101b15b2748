#pragma once

#include <string>

#include "estimator/ask/environment.h"

namespace vramfit::fit {

/// Of a tokenised data set, a JSON value a line: a number of tokens, a list of them, or an object
/// that has `input_ids`, `length` or `num_tokens`. Throws BadInput.
SampleLengths sample_lengths_on_disk(const std::string& path);

}  // namespace vramfit::fit
