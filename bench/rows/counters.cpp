#include "bench/rows/counters.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "bench/counters/counter.h"
#include "bench/rows/article.h"
#include "model/transformer/parameters.h"
#include "runtimes/article/formulas.h"

namespace vramfit::bench {
namespace {

std::string stage_key(const std::string& prefix, const StageRecord& record) {
  return prefix + "_step" + std::to_string(std::max(record.step, 1)) + "_" + name(record.stage);
}

}  // namespace

void Counters::set(const std::string& name, double value) {
  if (!std::isfinite(value)) throw std::logic_error("counter " + name + " is no number");
  // Of rows that are run together one is told from another by what stands before.
  if (!is_counter(name.substr(name.rfind('/') + 1))) {
    throw std::logic_error("counter " + name + " is not in the table of counters");
  }
  values_[name] = value;
}

void count_run(Counters& counters, const std::string& prefix, const RunReport& report) {
  counters.set(prefix + "_allocated", report.peak.allocated);
  counters.set(prefix + "_reserved", report.reserved);
  for (std::size_t i = 0; i < kCategories; ++i) {
    counters.set(prefix + "_" + kCategoryNames[i],
                 report.peak.by_category[static_cast<Category>(i)]);
  }
  if (report.host.reserved > 0) counters.set(prefix + "_host", report.host.reserved);
  // With accumulation a stage comes once a micro-batch: the last one's `after`, the highest peak.
  std::map<std::string, StageRecord> stages;
  for (const StageRecord& record : report.stages) {
    if (record.step > kDefaultSteps) break;
    const auto [it, first] = stages.emplace(stage_key(prefix, record), record);
    if (first) continue;
    it->second.after = record.after;
    it->second.peak = std::max(it->second.peak, record.peak);
  }
  for (const auto& [key, record] : stages) {
    counters.set(key + "_after", record.after);
    counters.set(key + "_peak", record.peak);
  }
}

void count_device_use(Counters& counters, const Case& c, const Measurement& measured) {
  const std::vector<std::uint64_t>& used = measured.device_used;
  if (used.empty()) return;
  const auto highest = std::max_element(used.begin(), used.end());
  counters.set("mem_device_used", *highest);
  const StageRecord& there =
      measured.report.stages.at(static_cast<std::size_t>(highest - used.begin()));
  const Overhead overhead = c.overhead();
  counters.set("mem_unattributed",
               static_cast<double>(*highest) -
                   static_cast<double>(there.reserved + overhead.context + overhead.libraries));
  double modules = static_cast<double>(*highest) - static_cast<double>(there.reserved);
  for (const auto& [part, bytes] : measured.beside) {
    counters.set("mem_" + part, bytes);
    modules -= static_cast<double>(bytes);
  }
  counters.set("mem_modules", modules);
  for (std::size_t i = 0; i < used.size(); ++i) {
    const StageRecord& record = measured.report.stages.at(i);
    if (record.step > kDefaultSteps) break;
    counters.set(stage_key("mem", record) + "_device_used", used[i]);
  }
}

void count_model(Counters& counters, const ModelConfig& config) {
  counters.set("params", static_cast<double>(parameter_count(config)));
  counters.set("params_stored", static_cast<double>(stored_parameter_count(config)));
}

void count_trained(Counters& counters, const ModelConfig& config, const TrainingOptions& options) {
  const Adapters adapters(config, options.lora);
  std::int64_t trained = adapters.none() ? parameter_count(config) : 0;
  for (const ParameterSpec& spec : adapters.parameters(config)) trained += spec.shape.elements();
  counters.set("params_trained", static_cast<double>(trained));
}

void count_card(Counters& counters, const Case& c, std::uint64_t reserved) {
  if (c.card == nullptr) return;
  const Overhead overhead = c.overhead();
  counters.set("pred_device_used", reserved + overhead.context + overhead.libraries);
}

void count_article(Counters& counters, const Row& row) {
  for (const auto& [counter, value] : article_figures(row.name())) counters.set(counter, value);
}

void count_article_formula(Counters& counters, const Case& c) {
  const std::string& optimizer = c.row[Axis::Optimizer];
  const ModelPrecision asked = parse_model_precision(c.row[Axis::Precision]);
  // What is trained is stored in 16 bits where linears multiply in 8.
  const auto precision =
      article::precision_for(optimizer.empty() ? asked.linears : Format(asked.activations));
  if (!precision) return;
  article::Question question =
      article::question_about(*c.config, *precision, c.size(Axis::Batch), c.size(Axis::Seq));
  question.training = !optimizer.empty();
  question.optimizer = article::optimizer_for(optimizer);
  counters.set("article_formula", article::will_it_fit(question).total());
}

}  // namespace vramfit::bench
