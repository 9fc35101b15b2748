#include "estimator/ask/question.h"

#include <algorithm>

#include "estimator/ask/alternatives.h"
#include "estimator/ask/budgets.h"
#include "estimator/ask/lengths.h"
#include "estimator/ask/model.h"
#include "estimator/ask/unsupported.h"
#include "estimator/runtimes.h"
#include "model/config/stored_quantization.h"
#include "model/dtype.h"
#include "model/errors.h"
#include "model/quantity.h"

namespace vramfit {
namespace {

/// Throws where both are given.
void not_both(bool a, const std::string& a_flag, bool b, const std::string& b_flag,
              const char* what) {
  if (a && b) throw BadInput(a_flag + " and " + b_flag + " contradict each other: " + what);
}

void only_with(bool given, const std::string& flag, bool condition, const char* what) {
  if (given && !condition) throw BadInput(flag + ": only with " + what);
}

void refuse_contradictions(const FitOptions& o) {
  const char* const one_model = "one model at a time";
  not_both(o.model.has_value(), "--model", o.config.has_value(), "--config", one_model);
  not_both(o.model.has_value(), "--model", o.params.has_value(), "--params", one_model);
  not_both(o.config.has_value(), "--config", o.params.has_value(), "--params", one_model);
  for (const auto& other : {o.model, o.config, o.params}) {
    not_both(o.gguf.has_value(), "--gguf", other.has_value(), "--model, --config and --params",
             one_model);
  }
  for (const auto& other : {o.model, o.config, o.params, o.gguf}) {
    not_both(o.tape.has_value(), "--tape", other.has_value(),
             "--model, --config, --params and --gguf", "a tape has its model");
  }
  only_with(o.hidden.has_value(), "hidden", o.params.has_value(), "--params");
  only_with(o.layers.has_value(), "layers", o.params.has_value(), "--params");
  for (const std::string& axis : o.searches) {
    not_both(true, "--max-" + axis, o.flags.contains(axis), "--" + axis, "one is searched for");
  }
  if (o.searches.size() > 1) {
    not_both(true, "--max-" + o.searches[0], true, "--max-" + o.searches[1],
             "one search at a time");
  }
}

/// "--max-batch and --max-seq": the searches that a runtime has.
std::string searches_of(const Runtime& runtime) {
  std::vector<std::string> names;
  for (const SearchAxis& axis : runtime.axes()) names.push_back("--max-" + std::string(axis.name));
  return all_of(names);
}

/// What is searched for; null: nothing.
const SearchAxis* search_of(const FitOptions& o, const Runtime& runtime) {
  if (o.searches.empty()) return nullptr;
  for (const SearchAxis& axis : runtime.axes()) {
    if (axis.name == o.searches.front()) return &axis;
  }
  throw BadInput("max-" + o.searches.front() + ": not under --runtime " + runtime.name() + "; " +
                 searches_of(runtime));
}

/// Whether a setting's value was given, in its own measure or in another.
bool is_given(const Flags& flags, const Runtime& runtime, std::string_view name) {
  return flags.contains(std::string(name)) || said_instead(runtime.settings(), flags, name);
}

/// "--runtime pytorch, the default": those that have the setting.
std::string runtimes_with(const std::string& setting) {
  std::string list;
  for (const Runtime* runtime : runtimes()) {
    if (!runtime->knows(setting)) continue;
    list += (list.empty() ? "" : " or ") + std::string("--runtime ") + runtime->name();
    if (runtime == &default_runtime()) list += ", the default";
  }
  return list;
}

/// Settings that the runtime does not have, or not for what is asked.
void refuse_strange_settings(const FitOptions& o, const Runtime& runtime) {
  using enum Setting::With;
  for (const auto& [name, value] : o.flags) {
    const Setting* setting = find(runtime.settings(), name);
    if (setting == nullptr) throw BadInput(name + ": only under " + runtimes_with(name));
    only_with(setting->with == Training, name, o.train, "--train");
    only_with(setting->with == Inference, name, !o.train, "inference, without --train");
  }
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

/// Throws where an answer is asked for that the runtime does not give.
void refuse_unless_can(bool asked, const std::string& flag, const char* why_not) {
  if (asked && why_not != nullptr) throw BadInput(flag + ": " + why_not);
}

void refuse_strange_answers(const FitOptions& o, const Runtime& runtime) {
  const SearchAxis* search = search_of(o, runtime);
  only_with(o.beyond_positions, "beyond-positions", search != nullptr && search->of_positions,
            "--max-seq");
  refuse_unless_can(o.formulas, "formulas", runtime.can().no_formulas);
  refuse_unless_can(o.advise, "advise", runtime.can().no_advice);
  if (search == nullptr) return;
  if (const char* instead = said_instead(runtime.settings(), o.flags, search->name)) {
    not_both(true, "--max-" + std::string(search->name), true, std::string("--") + instead,
             "one is searched for");
  }
  const std::string without = "; without " + searches_of(runtime);
  if (o.advise) throw BadInput("advise: of a run of one size" + without);
  if (o.formulas) throw BadInput("formulas: what they say is of one size" + without);
}

/// Flags that are about one run, allocation by allocation.
void refuse_strange_timelines(const FitOptions& o, const Question& question,
                              const Runtime& runtime) {
  if (!o.snapshot && !o.trace && !o.verify) return;
  const std::string flag = o.verify ? "verify" : o.snapshot ? "snapshot" : "trace";
  if (question.search) {
    throw BadInput(flag + ": of a run of one size; without " + searches_of(runtime));
  }
  if (question.every_card)
    throw BadInput(flag + ": of a run on one card; --gpu or --vram names it");
  refuse_unless_can(true, flag, runtime.can().no_timelines);
  const bool another = o.snapshot || o.trace || o.formulas || o.advise || o.strict || o.verbose;
  if (o.verify && another) {
    throw BadInput(
        "verify: is an answer of its own; without --snapshot, --trace, --formulas, --advise, "
        "--strict and --verbose");
  }
  if (o.snapshot && o.trace && *o.snapshot == *o.trace) {
    throw BadInput("trace: '" + *o.trace + "' is --snapshot's file; another one");
  }
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

/// Names the runtimes that read it, which its own message does not know.
std::string nearest_readers(const UnreadModel& unread) {
  std::string others;
  for (const std::string& other : readers_of(*unread.source())) {
    others += (others.empty() ? "; nearest: --runtime " : " or ") + other;
  }
  return others;
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

/// As the runtime itself reads it; nothing where it reads none.
std::optional<ModelConfig> own_reading(const Runtime& runtime,
                                       const std::shared_ptr<const ModelSource>& source) {
  if (source == nullptr) return std::nullopt;
  try {
    std::optional<ModelConfig> model = runtime.read_model(*source);
    if (model && model->source == nullptr) model->source = source;
    return model;
  } catch (const UnreadModel&) {
    throw;
  } catch (const BadInput& refusal) {
    const UnreadModel unread(refusal.what(), source);
    throw UnreadModel(unread.what() + nearest_readers(unread), source);
  }
}

/// Whether it was read of a part of what its config describes: no reader takes that key otherwise.
bool is_a_part(const ModelConfig& model) {
  return model.source != nullptr &&
         model.source->config.find("\"text_config\"") != std::string::npos;
}

/// Of a model that no reader has a shape of, or of a part alone, what the runtime makes of it.
ModelConfig model_for(const FitOptions& o, const Environment& environment, const Runtime& runtime) {
  try {
    ModelConfig model = model_of(o, environment);
    if (!is_a_part(model)) return model;
    return own_reading(runtime, model.source).value_or(model);
  } catch (const UnknownModel& unknown) {
    if (std::optional<ModelConfig> model = own_reading(runtime, unknown.source())) {
      return *std::move(model);
    }
    if (unknown.source() == nullptr) throw;
    throw UnknownModel(unknown.what() + nearest_readers(unknown), unknown.source());
  } catch (const UnreadModel& unread) {
    if (std::optional<ModelConfig> model = own_reading(runtime, unread.source())) {
      return *std::move(model);
    }
    if (unread.source() == nullptr) throw;
    throw UnreadModel(unread.what() + nearest_readers(unread), unread.source());
  }
}

/// The model that drafts for it, by its name, its config's folder or its GGUF file.
void add_draft(const FitOptions& o, const Environment& environment, const Runtime& runtime,
               ModelConfig& model) {
  const std::optional<std::string> called = typed(o.flags, "model-draft");
  if (!called) return;
  FitOptions draft;
  (called->ends_with(".gguf") ? draft.gguf : draft.model) = called;
  auto source = std::make_shared<ModelSource>(*model.source);
  source->draft = model_for(draft, environment, runtime).source;
  model.source = std::move(source);
}

}  // namespace

Question resolve_question(const FitOptions& o, const Environment& environment) {
  const std::optional<std::string> runtime = o.tape && !o.runtime ? "recorded" : o.runtime;
  return resolve_question(o, environment, runtime ? runtime_named(*runtime) : default_runtime());
}

Question resolve_question(const FitOptions& asked, const Environment& environment,
                          const Runtime& runtime) {
  const FitOptions o = of_longest_sample(asked, environment);
  refuse_contradictions(o);
  Question question;
  refuse_unless_can(o.train, "train", runtime.can().no_training);
  refuse_quantized_precision(o.flags, runtime);
  refuse_strange_settings(o, runtime);
  refuse_strange_answers(o, runtime);
  Request request{model_for(o, environment, runtime), nullptr, {}};
  add_draft(o, environment, runtime, request.model);
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
  refuse_strange_timelines(o, question, runtime);
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
