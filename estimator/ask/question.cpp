#include "estimator/ask/question.h"

#include <algorithm>

#include "estimator/ask/alternatives.h"
#include "estimator/ask/budgets.h"
#include "estimator/ask/contradictions.h"
#include "estimator/ask/lengths.h"
#include "estimator/ask/model.h"
#include "estimator/runtimes.h"
#include "model/config/stored_quantization.h"
#include "model/dtype.h"
#include "model/errors.h"
#include "model/quantity.h"

namespace vramfit {
namespace {

/// Whether a setting's value was given, in its own measure or in another.
bool is_given(const Flags& flags, const Runtime& runtime, std::string_view name) {
  return flags.contains(std::string(name)) || said_instead(runtime.settings(), flags, name);
}

/// Where no precision is asked for, a model runs in the one its config names.
void run_as_stored(const Runtime& runtime, const ModelConfig& model, Flags& flags) {
  if (has(flags, "precision") || model.dtype.empty() || !runtime.can().as_stored) return;
  flags["precision"] = name(dtype_of_torch(model.dtype));
}

/// "--runtime pytorch": the first that runs weights in the few bits that they are stored in.
std::string runs_quantized() {
  const auto& list = runtimes();
  const auto first = std::find_if(list.begin(), list.end(), [](const Runtime* runtime) {
    return runtime->can().quantized_as_stored;
  });
  return std::string("--runtime ") + (*first)->name();
}

/// Where weights are stored in few bits, they run so.
void quantize_as_stored(const Runtime& runtime, ModelConfig& model, Flags& flags) {
  const auto stored = model.stored_quant.find("quant");
  if (stored == model.stored_quant.end()) return;
  const bool can = runtime.can().quantized_as_stored;
  require_stored_format(model, can ? typed(flags, "quant").value_or("") : "",
                        can ? "--quant " + stored->second : runs_quantized() + " runs them so");
  flags.insert(model.stored_quant.begin(), model.stored_quant.end());
  model.notes.emplace_back(
      "its files hold weights in few bits; loading is predicted as of files of 16 bits");
}

/// Flags that were left to their defaults, of those that a user may believe to be otherwise.
std::vector<std::string> assumed_flags(const FitOptions& o, const Runtime& runtime) {
  const auto other_task = o.train ? Setting::With::Inference : Setting::With::Training;
  std::vector<std::string> names;
  for (const std::string_view name : runtime.can().assumed) {
    const Setting* setting = find(runtime.settings(), name);
    if (setting == nullptr || setting->with == other_task) continue;
    const bool searched = !o.searches.empty() && o.searches.front() == name;
    if (!is_given(o.flags, runtime, name) && !searched) names.emplace_back(name);
  }
  return names;
}

/// "batch 1 and 2048 tokens by default", with what goes before it; nothing where all were given.
template <typename Assumes>
std::string sizes_by_default(const Workload& workload, const Assumes& assumes) {
  std::string text;
  for (const SearchAxis& axis : workload.runtime().axes()) {
    if (!assumes(axis.name) || !workload.has_sizes() || axis.of_names) continue;
    text += (text.empty() ? "; " : " and ") + text_of(axis, workload.size(axis));
  }
  return text.empty() ? text : text + " by default";
}

/// "adamw-fused, transformers' default; weights in bf16, as its config says; batch 1 by default".
std::string runs_with(const Question& question, const Runtime& runtime, const ModelConfig& model,
                      const Workload& workload) {
  const auto assumes = [&](std::string_view flag) {
    const std::vector<std::string>& list = question.assumed;
    return std::find(list.begin(), list.end(), flag) != list.end();
  };
  std::string text;
  const std::string_view whose = runtime.can().defaults_of;
  if (assumes("optimizer") && !whose.empty()) {
    text = workload.facts().optimizer_name + ", " + std::string(whose) + " default; ";
  }
  const SearchAxis* search = question.search;
  const bool searched = search != nullptr && search->of_names;
  text += searched ? std::string(search->largest) + " that fits" : workload.types();
  if (assumes("precision")) {
    const bool as_stored = runtime.can().as_stored && !model.dtype.empty();
    text += as_stored ? ", as its config says" : ", the default";
  }
  return text + sizes_by_default(workload, assumes);
}

[[noreturn]] void refuse_generation(const ModelConfig& model) {
  throw BadInput("generate: leaves no room for a prompt within the " +
                 std::to_string(model.max_positions) + " positions that " + model.name +
                 " was made for; fewer new tokens" +
                 (model.learned_positions() ? "" : ", or with --beyond-positions"));
}

/// A model with fewer positions than the default sequence has is asked about all of them.
void shorten_default(const SearchAxis& axis, Request& request) {
  const std::int64_t limit = request.workload->limit(axis, request.model);
  if (limit >= request.workload->size(axis)) return;
  if (limit < 1) {
    refuse_generation(request.model);
  }
  set_size(request, axis, limit);
  ModelConfig& model = request.model;
  model.notes.push_back(std::string(axis.name) + " " + std::to_string(limit) + ": as long as " +
                        model.name + " takes");
}

void note_passed_over(const FitOptions& o, ModelConfig& model) {
  model.notes.insert(model.notes.end(), o.notes.begin(), o.notes.end());
  if (o.passed_over.empty()) return;
  std::string list;
  for (const std::string& flag : o.passed_over) list += (list.empty() ? "" : ", ") + flag;
  model.notes.push_back("passed over, as memory does not depend on it: " + list);
}

/// Of a table of all cards; a card that is named is refused where the run begins.
void leave_out_older_cards(std::vector<Request>& requests, const Workload& workload) {
  const int oldest = workload.oldest_sm();
  const auto is_older = [&](const Request& request) { return request.budget.arch.sm < oldest; };
  if (std::erase_if(requests, is_older) == 0) return;
  for (Request& request : requests) {
    request.model.notes.push_back("cards before sm_" + std::to_string(oldest) +
                                  ", which do not multiply such numbers, are left out");
  }
}

/// A list of cards says how many there are.
void count_cards(const std::vector<Budget>& machine, const Runtime& runtime, Flags& flags) {
  if (machine.empty()) return;
  if (!runtime.can().machines) {
    throw BadInput(std::string("gpu: a list of cards is not for --runtime ") + runtime.name() +
                   "; one card, several of it by --gpus, or --runtime llama.cpp");
  }
  const std::string count = std::to_string(machine.size());
  if (typed(flags, "gpus").value_or(count) != count) {
    throw BadInput("gpus: --gpu names " + count + " cards; without it");
  }
  flags["gpus"] = count;
}

void refuse_other_platforms(const Budget& budget, const Runtime& runtime) {
  if (budget.platform == Platform::Cuda || runtime.can().other_platforms) return;
  throw BadInput("gpu: " + budget.gpu + " has no CUDA, which figures of --runtime " +
                 runtime.name() + " are of; --runtime llama.cpp, or an NVIDIA card");
}

}  // namespace

Question resolve_question(const FitOptions& o, const Environment& environment) {
  std::optional<std::string> runtime = o.runtime;
  if (!runtime && o.tape) runtime = "recorded";
  if (!runtime && o.gguf) runtime = "llama.cpp";
  return resolve_question(o, environment, runtime ? runtime_named(*runtime) : default_runtime());
}

Question resolve_question(const FitOptions& asked, const Environment& environment,
                          const Runtime& runtime) {
  const FitOptions o = of_longest_sample(asked, environment);
  refuse_contradictions(o, runtime);
  Question question;
  Request request{model_of(o, environment, runtime), nullptr, {}};
  request.beyond_positions = o.beyond_positions;
  Flags flags = o.flags;
  runtime.complete(flags, {o.train, o.of_a_trainer, o.typed});
  run_as_stored(runtime, request.model, flags);
  quantize_as_stored(runtime, request.model, flags);
  std::vector<Budget> budgets = budgets_of(o, environment);
  count_cards(budgets.front().machine, runtime, flags);
  refuse_other_platforms(budgets.front(), runtime);
  request.workload = runtime.workload(flags, o.train, request.model);
  question.search = search_of(o, runtime);
  if (question.search != nullptr && !request.workload->has_sizes()) {
    throw BadInput("max-" + o.searches.front() +
                   ": what is asked about does not depend on it; without it");
  }
  for (const SearchAxis& axis : runtime.axes()) {
    const bool chosen = is_given(o.flags, runtime, axis.name) ||
                        (question.search != nullptr && *question.search == axis);
    if (axis.of_positions && !chosen) shorten_default(axis, request);
  }
  for (std::string& caution : request.workload->cautions()) {
    request.model.notes.push_back(std::move(caution));
  }
  note_passed_over(o, request.model);
  for (Budget& budget : budgets) {
    request.budget = std::move(budget);
    question.requests.push_back(request);
  }
  question.every_card = question.requests.size() > 1;
  if (o.advise && question.every_card) {
    throw BadInput("advise: of a run on one card; --gpu or --vram names it");
  }
  if (question.every_card) leave_out_older_cards(question.requests, *request.workload);
  const SearchAxis* search = question.search;
  if (search != nullptr && search->of_positions && size_limit(request, *search) < 1) {
    refuse_generation(request.model);
  }
  refuse_strange_timelines(o, runtime, question.every_card);
  if (!question.every_card && search == nullptr) {
    question.alternatives = alternatives(o, flags, question.requests.front());
  }
  question.formulas = o.formulas;
  question.advise = o.advise;
  question.strict = o.strict;
  question.flags = std::move(flags);
  question.assumed = assumed_flags(o, runtime);
  question.runs_with = runs_with(question, runtime, request.model, *request.workload);
  return question;
}

}  // namespace vramfit
