#include "runtimes/llamacpp/weights/overrides.h"

#include <algorithm>
#include <charconv>

#include "model/errors.h"
#include "runtimes/llamacpp/weights/tensor_names.h"

namespace vramfit::llamacpp {
namespace {

constexpr std::string_view kLayerPrefix = "blk\\.";
constexpr std::size_t kLongestPattern = 4096;

/// Whether a pattern is one of several alternatives, outside of its parentheses.
bool has_alternatives(std::string_view pattern) {
  int depth = 0;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\') {
      ++i;
    } else if (pattern[i] == '(' || pattern[i] == '[') {
      ++depth;
    } else if (pattern[i] == ')' || pattern[i] == ']') {
      --depth;
    } else if (pattern[i] == '|' && depth <= 0) {
      return true;
    }
  }
  return false;
}

/// A pattern that begins with a layer: "blk\.3\.ffn_.*".
struct OfLayer {
  std::int64_t layer;
  std::string rest;  ///< behind it
};

std::optional<OfLayer> split_layer(std::string_view pattern) {
  if (pattern.substr(0, kLayerPrefix.size()) != kLayerPrefix || has_alternatives(pattern)) {
    return std::nullopt;
  }
  std::int64_t layer = 0;
  const char* end = pattern.data() + pattern.size();
  const auto read = std::from_chars(pattern.data() + kLayerPrefix.size(), end, layer);
  const std::string_view rest(read.ptr, static_cast<std::size_t>(end - read.ptr));
  // What is repeated is no end of a number.
  const bool ends =
      rest.substr(0, 2) == "\\." &&
      (rest.size() == 2 || std::string_view("*+?{").find(rest[2]) == std::string_view::npos);
  if (read.ec != std::errc() || !ends) return std::nullopt;
  return OfLayer{layer, std::string(rest.substr(2))};
}

int target_of(const std::string& buffer, int gpus) {
  if (buffer == "CPU") return Overrides::kHost;
  for (int i = 0; i < gpus; ++i) {
    if (buffer == "CUDA" + std::to_string(i)) return i;
  }
  throw BadInput("override-tensor: unknown buffer type '" + shortened(buffer, 24) +
                 "'; CPU, or CUDA0 and so on for each GPU");
}

/// LLM_FFN_EXPS_REGEX of common/common.h.
bool is_of_experts(std::string_view within) {
  for (const char* name :
       {"ffn_up_exps", "ffn_down_exps", "ffn_gate_exps", "ffn_gate_up_exps", "ffn_up_chexps",
        "ffn_down_chexps", "ffn_gate_chexps", "ffn_gate_up_chexps"}) {
    if (within.substr(0, std::string_view(name).size()) == name) return true;
  }
  return false;
}

}  // namespace

Overrides::Overrides(const Placement& placement, int gpus)
    : cpu_moe_layers_(placement.cpu_moe_layers) {
  for (const auto& [pattern, buffer] : placement.overrides) add(pattern, buffer, gpus);
}

void Overrides::add(const std::string& pattern, const std::string& buffer, int gpus) {
  const int target = target_of(buffer, gpus);
  if (const auto split = split_layer(pattern)) {
    patterns_.push_back({split->layer, compiled(split->rest, pattern), target});
  } else {
    patterns_.push_back({std::nullopt, compiled(pattern, pattern), target});
  }
}

std::size_t Overrides::compiled(const std::string& text, const std::string& pattern) {
  const auto known = std::find(texts_.begin(), texts_.end(), text);
  if (known != texts_.end()) return static_cast<std::size_t>(known - texts_.begin());
  if (pattern.size() > kLongestPattern) {
    throw BadInput("override-tensor: a pattern of " + std::to_string(pattern.size()) +
                   " bytes; at most " + std::to_string(kLongestPattern));
  }
  try {
    regexes_.emplace_back(text);
  } catch (const std::regex_error&) {
    throw BadInput("override-tensor: '" + shortened(pattern, 60) + "' is no regular expression");
  }
  texts_.push_back(text);
  return texts_.size() - 1;
}

std::optional<int> Overrides::of(std::string_view name) const {
  const std::int64_t layer = layer_of(name);
  const std::string_view within = within_layer(name);
  for (const Pattern& pattern : patterns_) {
    const std::regex& regex = regexes_[pattern.regex];
    const bool matches =
        pattern.layer
            ? *pattern.layer == layer && std::regex_search(within.begin(), within.end(), regex,
                                                           std::regex_constants::match_continuous)
            : std::regex_search(name.begin(), name.end(), regex);
    if (matches) return pattern.target;
  }
  if (layer >= 0 && layer < cpu_moe_layers_ && is_of_experts(within)) return kHost;
  return std::nullopt;
}

}  // namespace vramfit::llamacpp
