#include "estimator/ask/question.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "estimator/ask/alternatives.h"
#include "estimator/ask/budgets.h"
#include "estimator/ask/model.h"
#include "estimator/ask/not_yet.h"
#include "estimator/ask/trainer.h"
#include "estimator/runtimes.h"
#include "model/config/stored_quantization.h"
#include "model/dtype.h"
#include "model/errors.h"
#include "model/quantity.h"

namespace vramfit {
namespace {

/// Throws where both are given.
void not_both(bool a, const char* a_flag, bool b, const char* b_flag, const char* what) {
  if (a && b) {
    throw BadInput(std::string(a_flag) + " and " + b_flag + " contradict each other: " + what);
  }
}

void only_with(bool given, const std::string& flag, bool condition, const char* what) {
  if (given && !condition) throw BadInput(flag + ": only with " + what);
}

void refuse_contradictions(const Options& o) {
  const char* const one_model = "one model at a time";
  not_both(o.model.has_value(), "--model", o.config.has_value(), "--config", one_model);
  not_both(o.model.has_value(), "--model", o.params.has_value(), "--params", one_model);
  not_both(o.config.has_value(), "--config", o.params.has_value(), "--params", one_model);
  only_with(o.hidden.has_value(), "hidden", o.params.has_value(), "--params");
  only_with(o.layers.has_value(), "layers", o.params.has_value(), "--params");
  not_both(o.max_batch, "--max-batch", has(o.flags, "batch"), "--batch", "one is searched for");
  not_both(o.max_seq, "--max-seq", has(o.flags, "seq"), "--seq", "one is searched for");
  not_both(o.max_batch, "--max-batch", o.max_seq, "--max-seq", "one search at a time");
}

/// "--runtime pytorch, the default": those that have the setting.
std::string runtimes_with(const std::string& setting) {
  std::string list;
  for (const Runtime* runtime : runtimes()) {
    if (!runtime->knows(setting)) continue;
    list += (list.empty() ? "" : " or ") + std::string("--runtime ") + runtime->name();
    if (runtime == runtimes().front()) list += ", the default";
  }
  return list;
}

/// Settings that the runtime does not have, or not for what is asked.
void refuse_strange_settings(const Options& o, const Runtime& runtime) {
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
  if (has(flags, "precision") || model.dtype.empty() || !runtime.runs_as_stored()) return;
  flags["precision"] = name(dtype_of_torch(model.dtype));
}

/// Where weights are stored in few bits, they run so.
void quantize_as_stored(const Runtime& runtime, ModelConfig& model, Flags& flags) {
  const auto stored = model.stored_quant.find("quant");
  if (stored == model.stored_quant.end()) return;
  const bool can = runtime.knows("quant");
  require_stored_format(model, can ? typed(flags, "quant").value_or("") : "",
                        can ? "--quant " + stored->second : "--runtime pytorch runs them so");
  flags.insert(model.stored_quant.begin(), model.stored_quant.end());
  model.notes.emplace_back(
      "its files hold weights in few bits; loading is predicted as of files of 16 bits");
}

/// What no trainer does unless told: GradScaler refuses to unscale gradients in fp16.
void note_pure_fp16(const Options& o, const Workload& workload, ModelConfig& model) {
  const auto asked = workload.asked();
  const bool pure = o.train && asked.value("precision", "") == "fp16" &&
                    asked.contains("autocast") && asked["autocast"].is_null() &&
                    asked["lora"].is_null();
  if (!pure) return;
  model.notes.emplace_back(
      "training in pure fp16 is seldom stable; --precision bf16 takes as much, --precision fp32 "
      "--autocast fp16 is what GradScaler is for");
}

/// Flags that were left to their defaults, of those that a user may believe to be otherwise.
std::vector<std::string> assumed_flags(const Options& o, const Runtime& runtime) {
  std::vector<std::string> names;
  if (!has(o.flags, "precision")) names.emplace_back("precision");
  const bool optimizer = o.train && runtime.knows("optimizer");
  if (optimizer && !has(o.flags, "optimizer")) names.emplace_back("optimizer");
  if (!has(o.flags, "batch") && !o.max_batch) names.emplace_back("batch");
  if (!has(o.flags, "seq") && !o.max_seq) names.emplace_back("seq");
  return names;
}

/// "adamw-fused, transformers' default; weights in bf16, as its config says; batch 1 by default".
std::string runs_with(const Question& question, const Runtime& runtime, const ModelConfig& model,
                      const Workload& workload) {
  const auto assumes = [&](const char* flag) {
    const std::vector<std::string>& list = question.assumed;
    return std::find(list.begin(), list.end(), flag) != list.end();
  };
  std::string text;
  if (assumes("optimizer") && &runtime == runtimes().front()) {
    text = workload.asked().at("optimizer").get<std::string>() + ", transformers' default; ";
  }
  text += workload.types();
  if (assumes("precision")) {
    const bool as_stored = runtime.runs_as_stored() && !model.dtype.empty();
    text += as_stored ? ", as its config says" : ", the default";
  }
  const bool batch = assumes("batch") && workload.has_sizes();
  const bool seq = assumes("seq") && workload.has_sizes();
  if (batch || seq) {
    text += std::string("; ") + (batch ? "batch 1" : "") + (batch && seq ? " and " : "") +
            (seq ? std::to_string(workload.seq()) + " tokens" : "") + " by default";
  }
  return text;
}

void refuse_strange_answers(const Options& o, const Runtime& runtime) {
  only_with(o.beyond_positions, "beyond-positions", o.max_seq, "--max-seq");
  if (o.formulas && &runtime == &runtime_named("article")) {
    throw BadInput("formulas: --runtime article is one of them; without either");
  }
  if (o.advise && &runtime == &runtime_named("article")) {
    throw BadInput("advise: formulas are not to be relied on; without --runtime article");
  }
  if (o.advise && (o.max_batch || o.max_seq)) {
    throw BadInput("advise: of a run of one size; without --max-batch and --max-seq");
  }
  if (o.formulas && (o.max_batch || o.max_seq)) {
    throw BadInput("formulas: what they say is of one size; without --max-batch and --max-seq");
  }
}

/// Flags that are about one run, allocation by allocation.
void refuse_strange_timelines(const Options& o, const Question& question, const Runtime& runtime) {
  if (!o.snapshot && !o.trace && !o.verify) return;
  const std::string flag = o.verify ? "verify" : o.snapshot ? "snapshot" : "trace";
  if (question.search) {
    throw BadInput(flag + ": of a run of one size; without --max-batch and --max-seq");
  }
  if (question.every_card)
    throw BadInput(flag + ": of a run on one card; --gpu or --vram names it");
  if (&runtime == &runtime_named("article")) {
    throw BadInput(flag + ": formulas allocate nothing; without --runtime article");
  }
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
void shorten_default_seq(Request& request) {
  const std::int64_t limit = request.workload->seq_limit(request.model);
  if (limit >= request.workload->seq()) return;
  if (limit < 1) {
    refuse_generation(request.model);
  }
  set_seq(request, limit);
  ModelConfig& model = request.model;
  model.notes.push_back("seq " + std::to_string(limit) + ": as long as " + model.name + " takes");
}

void note_passed_over(const Options& o, ModelConfig& model) {
  if (o.passed_over.empty()) return;
  std::string list;
  for (const std::string& flag : o.passed_over) list += (list.empty() ? "--" : ", --") + flag;
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

}  // namespace

Question understand(const Options& o, const Surroundings& surroundings) {
  refuse_contradictions(o);
  Question question;
  const Runtime& runtime = o.runtime ? runtime_named(*o.runtime) : *runtimes().front();
  refuse_what_is_not_there_yet(o.flags, runtime);
  refuse_strange_settings(o, runtime);
  refuse_strange_answers(o, runtime);
  Request request{model_of(o, surroundings), nullptr, {}};
  request.beyond_positions = o.beyond_positions;
  Flags flags = o.flags;
  run_as_a_trainer(o, runtime, flags);
  run_as_stored(runtime, request.model, flags);
  quantize_as_stored(runtime, request.model, flags);
  request.workload = runtime.workload(flags, o.train, request.model);
  if ((o.max_batch || o.max_seq) && !request.workload->has_sizes()) {
    throw BadInput(std::string(o.max_batch ? "max-batch" : "max-seq") +
                   ": what is asked about does not depend on it; without it");
  }
  if (!has(o.flags, "seq") && !o.max_seq) shorten_default_seq(request);
  note_pure_fp16(o, *request.workload, request.model);
  note_passed_over(o, request.model);
  for (Budget& budget : budgets_of(o, surroundings)) {
    request.budget = std::move(budget);
    question.requests.push_back(request);
  }
  question.every_card = question.requests.size() > 1;
  if (o.advise && question.every_card) {
    throw BadInput("advise: of a run on one card; --gpu or --vram names it");
  }
  if (question.every_card) leave_out_older_cards(question.requests, *request.workload);
  if (o.max_batch) question.search = Size::Batch;
  if (o.max_seq) {
    question.search = Size::Seq;
    if (size_limit(request, Size::Seq) < 1) refuse_generation(request.model);
  }
  refuse_strange_timelines(o, question, runtime);
  if (!question.every_card && !question.search) {
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
