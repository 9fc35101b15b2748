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
std::string canonical(const std::array<Pair, N>& pairs, std::string_view alias) {
  for (const auto& [name, own] : pairs) {
    if (name == alias) return std::string(own);
  }
  return std::string(alias);
}

}  // namespace

std::string canonical_type(std::string_view, const std::string& alias) {
  constexpr std::string_view kModule = "torch.";
  const bool qualified = alias.starts_with(kModule);
  return canonical(kTypes, qualified ? alias.substr(kModule.size()) : alias);
}

// torch.optim has an Adafactor, which --optimizer means; --optim means transformers' own.
std::string canonical_optimizer(std::string_view flag, const std::string& alias) {
  if (flag == "optim" && alias == "adafactor") return "adafactor-hf";
  return canonical(kOptimizers, alias);
}

std::string canonical_attention(std::string_view, const std::string& alias) {
  if (!alias.starts_with("flash_attention")) return alias;
  throw BadInput(
      "attention: '" + alias +
      "' is not predicted yet; nearest: sdpa, which runs flash kernels of PyTorch's own");
}

std::string canonical_tokens(std::string_view, const std::string& alias) {
  constexpr std::size_t kDigits = 6;
  const std::size_t digits = alias.find_first_not_of("0123456789");
  const bool thousands = digits != std::string::npos && digits > 0 && digits <= kDigits &&
                         (alias.substr(digits) == "k" || alias.substr(digits) == "K");
  return thousands ? std::to_string(1024 * std::stol(alias.substr(0, digits))) : alias;
}

std::string canonical_list(std::string_view, const std::string& alias) {
  std::string list = alias;
  if (list.find(',') == std::string::npos) std::replace(list.begin(), list.end(), ' ', ',');
  return list;
}

}  // namespace vramfit::pytorch
