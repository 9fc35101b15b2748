#pragma once

#include <string>

#include "runtimes/runtime.h"

// What people ask for, and fit has no answer to yet: said in one line, with what is nearest.
namespace vramfit {

/// Throws BadInput where --precision is a format of few bits, and the runtime's may be none.
void refuse_quantized_precision(const Flags& flags, const Runtime& runtime);

/// Weights in a format that is not bitsandbytes'.
[[noreturn]] void refuse_quantized_weights(const std::string& flag);
/// A file of weights where a model's shape is expected.
[[noreturn]] void refuse_weights(const std::string& flag, const std::string& path);

}  // namespace vramfit
