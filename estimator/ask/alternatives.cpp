#include "estimator/ask/alternatives.h"

#include <nlohmann/json.hpp>

#include "estimator/ask/sizes.h"
#include "estimator/runtimes.h"

namespace vramfit {
namespace {

/// 16-bit weights by themselves, or fp32 ones under autocast: both are what people call mixed
/// precision, and half of them have the other in mind.
void add_other_precision(const Options& options, const Flags& flags, const Request& request,
                         std::vector<Alternative>& list) {
  const Runtime& runtime = request.workload->runtime();
  const bool can = request.workload->training() && runtime.knows("autocast");
  if (!can || has(flags, "lora") || has(flags, "mixed-precision")) return;
  const std::string precision = request.workload->asked().at("precision");
  Flags other = flags;
  std::string choice;
  const auto autocast = typed(flags, "autocast");
  if (autocast && precision == "fp32") {
    if (options.advise) return;  // which tries it, too
    other.erase("autocast");
    other["precision"] = *autocast;
    choice = "--precision " + *autocast + " without autocast";
  } else if (precision != "fp32") {
    const std::string cast = autocast.value_or(precision);
    other["precision"] = "fp32";
    other["autocast"] = cast;
    choice = "fp32 weights under --autocast " + cast;
  } else {
    return;
  }
  Alternative alternative{choice, request};
  alternative.request.workload = runtime.workload(other, true, request.model)
                                     ->resized(request.workload->batch(), request.workload->seq());
  list.push_back(std::move(alternative));
}

}  // namespace

std::vector<Alternative> alternatives(const Options& options, const Flags& flags,
                                      const Request& request) {
  std::vector<Alternative> list;
  add_other_precision(options, flags, request, list);
  if (options.vram && is_bare(*options.vram)) {
    Alternative alternative{"--vram " + *options.vram + "GiB", request};
    alternative.request.budget.vram = vram_of(*options.vram + "GiB");
    list.push_back(std::move(alternative));
  }
  return list;
}

}  // namespace vramfit
