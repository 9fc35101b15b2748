#include "estimator/formulas.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "estimator/runtimes.h"
#include "model/format.h"
#include "model/transformer/parameters.h"
#include "runtimes/article/formulas.h"

namespace vramfit {
namespace {

using Json = nlohmann::ordered_json;
using Total = std::optional<double>;

/// A run as formulas know one.
struct Run {
  explicit Run(const Request& request)
      : model(request.model),
        asked(request.workload->asked()),
        parameters(static_cast<double>(parameter_count(request.model))),
        training(request.workload->training()),
        batch(static_cast<double>(request.workload->batch())),
        seq(static_cast<double>(request.workload->seq())) {}

  bool has(const char* option) const { return asked.contains(option) && !asked[option].is_null(); }
  std::string text(const char* option) const { return asked.value(option, ""); }
  bool adam() const { return training && !has("lora") && text("optimizer").starts_with("adam"); }

  const ModelConfig& model;
  Json asked;
  double parameters;
  bool training;
  double batch;
  double seq;
};

/// What weights are stored in, as the run calls it: "bf16", "nf4", "int8-wo".
std::string stored_in(const Run& run) {
  return run.has("quant") ? run.asked["quant"]["format"].get<std::string>() : run.text("precision");
}

/// bitsandbytes' fp4, which vramfit's own step lacks, is as nf4 is to who counts bits.
Format format_of_weights(const Run& run) {
  const std::string name = stored_in(run);
  return Format::named(name.substr(0, name.find('-'))).value_or(*Format::named("nf4"));
}

/// Its calculator knows Adam and SGD, and neither adapters nor checkpointing.
Total article(const Run& run) {
  if (run.has("lora") || run.has("checkpoint") || run.has("autocast")) return std::nullopt;
  const auto precision = article::precision_for(format_of_weights(run));
  if (!precision) return std::nullopt;
  Flags flags = {{"precision", *precision},
                 {"batch", std::to_string(run.asked["batch"].get<std::int64_t>())},
                 {"seq", std::to_string(run.asked["seq"].get<std::int64_t>())}};
  if (run.training) flags["optimizer"] = run.adam() ? "adam" : "sgd";
  const auto workload = runtime_named("article").workload(flags, run.training, run.model);
  const Outcome outcome = workload->run({}, kUnlimitedBytes, run.model, {});
  return static_cast<double>(outcome.report.peak.allocated);
}

constexpr double kStatesOfMixedPrecision = 18;  ///< bytes a parameter

Total deepspeed(const Run& run) {
  if (!run.adam()) return std::nullopt;
  return kStatesOfMixedPrecision * run.parameters;
}

Total accelerate(const Run& run) {
  if (run.training && !run.adam()) return std::nullopt;
  return (run.training ? 4 : 1) * run.parameters * format_of_weights(run).row().bits / 8;
}

/// The paper keeps activations whole and trains in mixed precision.
Total korthikanti(const Run& run) {
  if (!run.adam() || run.has("checkpoint")) return std::nullopt;
  const auto hidden = static_cast<double>(run.model.hidden);
  const auto heads = static_cast<double>(run.model.heads);
  const double layer = run.seq * run.batch * hidden * (34 + 5 * heads * run.seq / hidden);
  return kStatesOfMixedPrecision * run.parameters + static_cast<double>(run.model.layers) * layer;
}

struct Formula {
  const char* name;
  const char* form;
  const char* source;
  Total (*total)(const Run&);
};

constexpr Formula kFormulas[] = {
    {"the article", "will_it_fit",
     "\"GPU Memory Benchmarks: Will This Model Fit?\", its calculator with the true shape",
     article},
    {"DeepSpeed", "18 B/param",
     "DeepSpeed's documentation, \"Memory Requirements\": estimate_zero3_model_states_mem_needs on "
     "one GPU; model states only",
     deepspeed},
    {"accelerate", "4 x model; model",
     "accelerate's documentation, \"Model memory estimator\": training with Adam; inference",
     accelerate},
    {"Korthikanti et al.", "18 B/param + L*sbh(34 + 5as/h)",
     "\"Reducing Activation Recomputation in Large Transformer Models\", arXiv 2205.05198, "
     "equation 1; DeepSpeed's states beside it",
     korthikanti},
};

}  // namespace

std::vector<FormulaAnswer> formula_answers(const Request& request) {
  const Run run(request);
  const auto room =
      static_cast<double>(request.budget.vram) - static_cast<double>(request.budget.set_aside());
  std::vector<FormulaAnswer> answers;
  for (const Formula& formula : kFormulas) {
    FormulaAnswer answer{formula.name, formula.form, formula.source, std::nullopt};
    // What no card could ever hold is none.
    const Total total = formula.total(run);
    if (total && *total < static_cast<double>(kUnlimitedBytes)) {
      answer.total = static_cast<std::uint64_t>(std::llround(*total));
      answer.fits = *total <= room;
    }
    answers.push_back(answer);
  }
  return answers;
}

}  // namespace vramfit
