#include "runtimes/parallel_flags.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "model/errors.h"

namespace vramfit {
namespace {

constexpr std::array<std::pair<std::string_view, const char*>, 11> kOtherNames = {{
    {"dp", "data-parallel"},
    {"pp", "pipeline"},
    {"pipeline-parallel", "pipeline"},
    {"tensor", "tp"},
    {"tensor-parallel", "tp"},
    {"tp-plan", "tp"},
    {"fsdp2", "fsdp"},
    {"fsdp-zero3", "fsdp"},
    {"full-shard", "fsdp"},
    {"zero-1", "zero1"},
    {"zero-2", "zero2"},
}};

std::string canonical(std::string alias) {
  std::replace(alias.begin(), alias.end(), '_', '-');
  for (const auto& [other, own] : kOtherNames) {
    if (alias == other) return own;
  }
  return alias;
}

}  // namespace

std::string strategy_named(const Flags& flags) {
  return canonical(typed(flags, "strategy").value_or(""));
}

std::optional<SeveralGpus> several_gpus(const Flags& flags) {
  constexpr std::int64_t kMaxGpus = 65536;
  if (!has(flags, "gpus")) return std::nullopt;
  SeveralGpus several{whole(flags, "gpus", 1), {}};
  if (several.gpus < 1 || several.gpus > kMaxGpus) {
    throw BadInput("gpus: " + std::to_string(several.gpus) + "; 1 to " + std::to_string(kMaxGpus));
  }
  if (has(flags, "strategy")) several.strategy = strategy_named(flags);
  return several;
}

}  // namespace vramfit
