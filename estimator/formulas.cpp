#include "estimator/formulas.h"

#include <cmath>

#include "model/transformer/parameters.h"
#include "runtimes/article/formulas.h"

namespace vramfit {
namespace {

using Total = std::optional<double>;

/// A run as formulas know one.
struct Run {
  explicit Run(const Request& request)
      : model(request.model),
        facts(request.workload->facts()),
        parameters(static_cast<double>(parameter_count(request.model))),
        training(request.workload->training()) {}

  /// All parameters are trained, with states of Adam's.
  bool adam() const { return facts.optimizer == Facts::Optimizer::Adam && !facts.adapters; }

  const ModelConfig& model;
  Facts facts;
  double parameters;
  bool training;
};

/// Its calculator knows Adam and SGD, and neither adapters nor checkpointing.
Total article(const Run& run) {
  const Facts& facts = run.facts;
  if (facts.adapters || facts.checkpointing || facts.autocast) return std::nullopt;
  const auto precision = article::precision_for(facts.weights);
  if (!precision) return std::nullopt;
  article::Question question =
      article::question_about(run.model, *precision, facts.batch, facts.seq);
  question.training = run.training;
  question.optimizer = run.adam() ? "adam" : "sgd";
  return article::will_it_fit(question).total();
}

constexpr double kStatesOfMixedPrecision = 18;  ///< bytes a parameter

Total deepspeed(const Run& run) {
  if (!run.adam()) return std::nullopt;
  return kStatesOfMixedPrecision * run.parameters;
}

Total accelerate(const Run& run) {
  if (run.training && !run.adam()) return std::nullopt;
  return (run.training ? 4 : 1) * run.parameters * run.facts.weights.row().bits / 8;
}

/// The paper keeps activations whole and trains in mixed precision.
Total korthikanti(const Run& run) {
  if (!run.adam() || run.facts.checkpointing) return std::nullopt;
  const auto hidden = static_cast<double>(run.model.hidden);
  const auto heads = static_cast<double>(run.model.heads);
  const auto batch = static_cast<double>(run.facts.batch);
  const auto seq = static_cast<double>(run.facts.seq);
  const double layer = seq * batch * hidden * (34 + 5 * heads * seq / hidden);
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
