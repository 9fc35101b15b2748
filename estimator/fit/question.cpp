#include "estimator/fit/question.h"

#include <sstream>

#include "estimator/models.h"
#include "estimator/quantity.h"
#include "model/config/hugging_face.h"
#include "model/errors.h"
#include "model/transformer/assumed_llama.h"
#include "runtimes/pytorch/modules/causal_lm.h"

namespace vramfit::fit {
namespace {

using Text = std::optional<std::string>;

/// Throws where both are given.
void not_both(bool a, const char* a_flag, bool b, const char* b_flag, const char* what) {
  if (a && b) {
    throw BadInput(std::string(a_flag) + " and " + b_flag + " contradict each other: " + what);
  }
}

/// Throws where `flag` is given without what it belongs to.
void only_with(const Text& value, const char* flag, bool condition, const char* what) {
  if (value && !condition) throw BadInput(std::string(flag) + ": only with " + what);
}

void refuse_contradictions(const Options& o) {
  const char* const one_model = "one model at a time";
  not_both(o.model.has_value(), "--model", o.config.has_value(), "--config", one_model);
  not_both(o.model.has_value(), "--model", o.params.has_value(), "--params", one_model);
  not_both(o.config.has_value(), "--config", o.params.has_value(), "--params", one_model);
  only_with(o.hidden, "hidden", o.params.has_value(), "--params");
  only_with(o.layers, "layers", o.params.has_value(), "--params");
  only_with(o.optimizer, "optimizer", o.train, "--train");
  only_with(o.accumulate, "accumulate", o.train, "--train");
  only_with(o.generate, "generate", !o.train, "inference, without --train");
  only_with(o.autocast, "autocast", o.train, "--train");
  only_with(o.checkpoint, "checkpoint", o.train, "--train");
  only_with(o.lora, "lora", o.train, "--train");
  only_with(o.lora_targets, "lora-targets", o.lora.has_value(), "--lora");
  if (o.padded && o.train) throw BadInput("padded: only with inference, without --train");
  not_both(o.max_batch, "--max-batch", o.batch.has_value(), "--batch", "one is searched for");
  not_both(o.max_seq, "--max-seq", o.seq.has_value(), "--seq", "one is searched for");
  not_both(o.max_batch, "--max-batch", o.max_seq, "--max-seq", "one search at a time");
}

/// Flags that only PyTorch's runtime has.
void refuse_pytorch_flags(const Options& o) {
  const auto refuse = [](bool given, const char* flag) {
    if (given) {
      throw BadInput(std::string(flag) + ": only under --runtime pytorch, the default");
    }
  };
  refuse(o.autocast.has_value(), "autocast");
  refuse(o.checkpoint.has_value(), "checkpoint");
  refuse(o.lora.has_value(), "lora");
  refuse(o.lora_targets.has_value(), "lora-targets");
  refuse(o.padded, "padded");
}

bool is_pytorch(const Options& o) {
  const std::string runtime = o.runtime.value_or("pytorch");
  if (runtime == "pytorch") return true;
  if (runtime != "vramfit")
    throw BadInput("runtime: unknown '" + runtime + "'; pytorch or vramfit");
  refuse_pytorch_flags(o);
  return false;
}

std::optional<std::int64_t> whole(const char* field, const Text& text) {
  return text ? std::optional(parse_whole(field, *text)) : std::nullopt;
}

ModelConfig model_of(const Options& o) {
  if (o.model) return model_named(*o.model);
  if (o.config) return read_hugging_face(*o.config);
  if (o.params) {
    return assumed_llama(parse_count("params", *o.params), whole("hidden", o.hidden),
                         whole("layers", o.layers));
  }
  throw BadInput("model: missing; --model NAME (fit --list), --config PATH or --params 7B");
}

/// A model with fewer positions than the default sequence has is asked about all of them.
void shorten_default_seq(Request& request) {
  const std::int64_t limit = seq_limit(request);
  if (limit >= seq_of(request)) return;
  if (limit < 1) {
    throw BadInput("generate: leaves no room for a prompt within the positions that " +
                   request.model.name + " takes; fewer new tokens");
  }
  set_seq(request, limit);
  ModelConfig& model = request.model;
  model.notes.push_back("seq " + std::to_string(limit) + ": as long as " + model.name + " takes");
}

template <typename Shared>
void read_sizes(const Options& o, Shared& options) {
  if (o.precision) options.precision = parse_precision(*o.precision);
  options.batch = whole("batch", o.batch).value_or(options.batch);
  options.seq = whole("seq", o.seq).value_or(options.seq);
}

Workload workload_of(const Options& o) {
  if (o.train) {
    TrainingOptions options;
    read_sizes(o, options);
    if (o.attention) options.attention = parse_attention(*o.attention);
    if (o.optimizer) options.optimizer = optimizer_named(*o.optimizer);
    options.accumulate = whole("accumulate", o.accumulate).value_or(options.accumulate);
    return options;
  }
  GenerationOptions options;
  read_sizes(o, options);
  if (o.attention) options.attention = parse_attention(*o.attention);
  options.generate = whole("generate", o.generate).value_or(options.generate);
  return options;
}

/// PEFT's target_modules: names, or "all-linear".
std::vector<std::string> lora_targets(const std::string& typed, const ModelConfig& model) {
  if (typed == "all-linear") return pytorch::projection_names(model);
  std::vector<std::string> names;
  std::istringstream text(typed + ",");
  for (std::string name; std::getline(text, name, ',');) {
    if (name.empty()) {
      throw BadInput("lora-targets: a name is missing; such as q_proj,v_proj, or all-linear");
    }
    names.push_back(name);
  }
  return names;
}

pytorch::TrainingOptions pytorch_training_of(const Options& o, const ModelConfig& model) {
  pytorch::TrainingOptions options;
  read_sizes(o, options);
  if (o.attention) options.attention = pytorch::parse_attention(*o.attention);
  if (o.optimizer) options.optimizer = pytorch::parse_optimizer(*o.optimizer);
  options.accumulate = whole("accumulate", o.accumulate).value_or(options.accumulate);
  if (o.autocast) options.autocast = parse_precision(*o.autocast);
  if (o.checkpoint && *o.checkpoint != "full") {
    throw BadInput("checkpoint: unknown '" + *o.checkpoint + "'; full");
  }
  options.checkpoint = o.checkpoint.has_value();
  if (o.lora) {
    options.lora = pytorch::LoraOptions{parse_whole("lora", *o.lora),
                                        o.lora_targets ? lora_targets(*o.lora_targets, model)
                                                       : pytorch::default_lora_targets(model)};
  }
  return options;
}

pytorch::Workload pytorch_workload_of(const Options& o, const ModelConfig& model) {
  if (o.train) return pytorch_training_of(o, model);
  pytorch::GenerationOptions options;
  read_sizes(o, options);
  if (o.attention) options.attention = pytorch::parse_attention(*o.attention);
  options.generate = whole("generate", o.generate).value_or(options.generate);
  if (o.padded) options.padded = true;
  return options;
}

std::uint64_t vram_of(const std::string& text) {
  const std::uint64_t bytes = parse_bytes("vram", text);
  if (bytes == 0) throw BadInput("vram: is 0; the size of a GPU such as 24GB");
  return bytes;
}

std::vector<Budget> budgets_of(const Options& o,
                               const std::function<std::optional<Budget>()>& this_gpu) {
  if (o.gpu) {
    Budget budget = budget_of(card_named(*o.gpu));
    if (o.vram) {
      budget.vram = vram_of(*o.vram);
      budget.notes.emplace_back("the card's size is set by --vram");
    }
    return {budget};
  }
  if (o.vram) return {budget_of_size(vram_of(*o.vram))};
  if (const std::optional<Budget> budget = this_gpu()) return {*budget};
  std::vector<Budget> budgets;
  for (const Card& card : cards()) budgets.push_back(budget_of(card));
  return budgets;
}

}  // namespace

Question understand(const Options& o, const std::function<std::optional<Budget>()>& this_gpu) {
  refuse_contradictions(o);
  Question question;
  Request request{model_of(o), {}, {}, {}};
  if (is_pytorch(o)) {
    request.pytorch = pytorch_workload_of(o, request.model);
  } else {
    request.workload = workload_of(o);
  }
  if (!o.seq && !o.max_seq) shorten_default_seq(request);
  const std::uint64_t headroom = o.headroom ? parse_bytes("headroom", *o.headroom) : 0;
  for (Budget& budget : budgets_of(o, this_gpu)) {
    budget.headroom = headroom;
    request.budget = std::move(budget);
    question.requests.push_back(request);
  }
  question.every_card = question.requests.size() > 1;
  if (o.max_batch) question.search = Search::Batch;
  if (o.max_seq) question.search = Search::Seq;
  return question;
}

}  // namespace vramfit::fit
