#include "estimator/ask/sweep.h"

#include <algorithm>

#include "estimator/ask/question.h"
#include "estimator/ask/spellings.h"
#include "model/errors.h"

namespace vramfit {
namespace {

using Sizes = std::map<std::string_view, std::int64_t>;  ///< by the names of their axes

/// Takes their sizes out of flags, as most runtimes call them.
Sizes taken_out(nlohmann::json& flags) {
  Sizes sizes;
  if (!flags.is_object()) return sizes;
  for (const SearchAxis& axis : batch_and_seq()) {
    const auto flag = flags.find(axis.name);
    if (flag == flags.end() || !flag->is_number_integer()) continue;
    sizes.emplace(axis.name, flag->get<std::int64_t>());
    flags.erase(flag);
  }
  return sizes;
}

/// Resizes it, where these are sizes of its runtime that the model takes.
bool resize(Request& request, const Sizes& sizes) {
  const std::vector<SearchAxis>& axes = request.workload->runtime().axes();
  for (const auto& [name, size] : sizes) {
    const auto axis =
        std::find_if(axes.begin(), axes.end(),
                     [wanted = name](const SearchAxis& other) { return other.name == wanted; });
    if (axis == axes.end() || size < 1) return false;
    if (size > request.workload->limit(*axis, request.model)) return false;
    set_size(request, *axis, size);
  }
  return true;
}

}  // namespace

Sweep::Run Sweep::read(const nlohmann::json& flags) const {
  const FitOptions options = options_of(flags);
  return in_typed_names(options.typed, [&]() -> Run {
    Question question = resolve_question(options, environment_);
    if (question.search != nullptr) {
      throw BadInput("max-" + std::string(question.search->name) +
                     ": not of many; each run has its size");
    }
    if (question.every_card)
      throw BadInput("gpu: missing; --gpu or --vram names the card of a run");
    return {std::move(question.requests.front()), options.strict, options.flags.contains("lengths"),
            options.typed};
  });
}

Sweep::Result Sweep::operator()(const nlohmann::json& flags) {
  nlohmann::json others = flags;
  const Sizes sizes = taken_out(others);
  std::string given;  // one that is not is another question: the default
  for (const auto& [name, size] : sizes) given += name;
  std::optional<Run>& run = runs_[{std::move(others), std::move(given)}];
  if (!run || run->of_samples || !resize(run->request, sizes)) run = read(flags);
  Estimate estimate = in_typed_names(
      run->typed, [&] { return vramfit::estimate(run->request, OomDetail::Untold); });
  const bool fits = run->strict ? estimate.verdict == Verdict::Fits : estimate.fits;
  return {std::move(estimate), fits};
}

}  // namespace vramfit
