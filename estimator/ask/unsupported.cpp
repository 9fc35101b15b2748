#include "estimator/ask/unsupported.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "model/errors.h"
#include "runtimes/foreign_words.h"

namespace vramfit {
namespace {

/// Formats of weights that no step is predicted in.
constexpr std::array<std::string_view, 9> kQuantizedPrecisions = {
    "int8", "int4", "8bit", "4bit", "nf4", "fp4", "fp8", "awq", "gptq"};

bool is_quantized(std::string precision) {
  std::transform(precision.begin(), precision.end(), precision.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  // llama.cpp's are q4_0, q4_k_m, iq3_xs, ...
  const bool of_llama_cpp = precision.starts_with("q") || precision.starts_with("iq");
  return of_llama_cpp || std::find(kQuantizedPrecisions.begin(), kQuantizedPrecisions.end(),
                                   precision) != kQuantizedPrecisions.end();
}

}  // namespace

void refuse_quantized_precision(const Flags& flags, const Runtime& runtime) {
  const std::string precision = typed(flags, "precision").value_or("");
  if (!runtime.can().quantized_precisions && is_quantized(precision)) {
    refuse_quantized_weights("precision " + precision);
  }
}

void refuse_quantized_weights(const std::string& flag) {
  throw BadInput(flag + ": " + kQuantizedWeights);
}

void refuse_weights(const std::string& flag, const std::string& path) {
  throw BadInput(
      flag + ": '" + path +
      "' holds weights; the model's config.json or the folder that holds it, or of a GGUF file " +
      "--runtime llama.cpp --gguf");
}

}  // namespace vramfit
