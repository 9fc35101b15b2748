#include "runtimes/pytorch/spellings.h"

#include <algorithm>
#include <array>
#include <utility>

#include "model/errors.h"

namespace vramfit::pytorch {
namespace {

using Pair = std::pair<std::string_view, std::string_view>;

constexpr std::array<Pair, 6> kOptimizers = {{
    {"adamw_torch", "adamw"},
    {"adamw_torch_fused", "adamw-fused"},
    {"adamw_bnb_8bit", "adamw-8bit"},
    {"adamw_8bit", "adamw-8bit"},
    {"paged_adamw_8bit", "paged-adamw-8bit"},
    {"paged_adamw_32bit", "paged-adamw-32bit"},
}};
constexpr std::array<Pair, 4> kTypes = {{
    {"bfloat16", "bf16"},
    {"float16", "fp16"},
    {"half", "fp16"},
    {"float32", "fp32"},
}};

template <std::size_t N>
std::string own_name(const std::array<Pair, N>& pairs, std::string_view theirs) {
  for (const auto& [name, own] : pairs) {
    if (name == theirs) return std::string(own);
  }
  return std::string(theirs);
}

}  // namespace

std::string own_type(std::string_view, const std::string& theirs) {
  constexpr std::string_view kModule = "torch.";
  const bool qualified = theirs.starts_with(kModule);
  return own_name(kTypes, qualified ? theirs.substr(kModule.size()) : theirs);
}

// torch.optim has an Adafactor, which --optimizer means; --optim means transformers' own.
std::string own_optimizer(std::string_view flag, const std::string& theirs) {
  if (flag == "optim" && theirs == "adafactor") return "adafactor-hf";
  return own_name(kOptimizers, theirs);
}

std::string own_attention(std::string_view, const std::string& theirs) {
  if (!theirs.starts_with("flash_attention")) return theirs;
  throw BadInput(
      "attention: '" + theirs +
      "' is not predicted yet; nearest: sdpa, which runs flash kernels of PyTorch's own");
}

std::string own_tokens(std::string_view, const std::string& theirs) {
  constexpr std::size_t kDigits = 6;
  const std::size_t digits = theirs.find_first_not_of("0123456789");
  const bool thousands = digits != std::string::npos && digits > 0 && digits <= kDigits &&
                         (theirs.substr(digits) == "k" || theirs.substr(digits) == "K");
  return thousands ? std::to_string(1024 * std::stol(theirs.substr(0, digits))) : theirs;
}

std::string own_list(std::string_view, const std::string& theirs) {
  std::string list = theirs;
  if (list.find(',') == std::string::npos) std::replace(list.begin(), list.end(), ' ', ',');
  return list;
}

}  // namespace vramfit::pytorch
