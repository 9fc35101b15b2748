#include "estimator/ask/alternatives.h"

#include <algorithm>

#include "estimator/ask/sizes.h"

namespace vramfit {
namespace {

/// Whether the choice is among the changes that advice is made of.
bool is_advised(const Choice& choice, const Request& request) {
  const std::vector<Adjustment> adjustments = request.workload->adjustments(request.model);
  return std::any_of(adjustments.begin(), adjustments.end(), [&](const Adjustment& adjustment) {
    return std::any_of(adjustment.choices.begin(), adjustment.choices.end(),
                       [&](const Choice& other) {
                         return other.flags == choice.flags && other.without == choice.without;
                       });
  });
}

void add_also_meant(const FitOptions& options, Flags flags, const Request& request,
                    std::vector<Alternative>& list) {
  const Workload& workload = *request.workload;
  const std::optional<Choice> choice = workload.also_meant();
  if (!choice || (options.advise && is_advised(*choice, request))) return;
  for (const std::string& flag : choice->without) flags.erase(flag);
  for (const auto& [flag, value] : choice->flags) flags[flag] = value;
  Alternative alternative{choice->label, request};
  auto other = workload.runtime().workload(flags, workload.training(), request.model);
  for (const SearchAxis& axis : workload.runtime().axes()) {
    other = other->resized(axis, workload.size(axis));
  }
  alternative.request.workload = std::move(other);
  list.push_back(std::move(alternative));
}

}  // namespace

std::vector<Alternative> alternatives(const FitOptions& options, const Flags& flags,
                                      const Request& request) {
  std::vector<Alternative> list;
  add_also_meant(options, flags, request, list);
  if (options.vram && is_bare(*options.vram)) {
    Alternative alternative{"--vram " + *options.vram + "GiB", request};
    alternative.request.budget.vram = vram_of(*options.vram + "GiB");
    list.push_back(std::move(alternative));
  }
  return list;
}

}  // namespace vramfit
