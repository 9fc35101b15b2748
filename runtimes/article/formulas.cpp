#include "runtimes/article/formulas.h"

#include <cmath>
#include <utility>

#include "model/errors.h"
#include "model/transformer/parameters.h"

namespace vramfit::article {
namespace {

constexpr double kGb = 1e9;
constexpr double kActivationFactor = 12;  // its 12 × hidden × seq × layers × bytes a sample

double bytes_per_parameter(const std::string& precision) {
  const std::pair<const char*, double> table[] = {
      {"fp32", 4.0}, {"fp16", 2.0}, {"bf16", 2.0}, {"int8", 1.0}, {"int4", 0.5}};
  for (const auto& [name, bytes] : table) {
    if (precision == name) return bytes;
  }
  throw BadInput("precision: the article does not know '" + precision +
                 "'; one of fp32, fp16, bf16, int8, int4");
}

/// 12: fp32 master weights, m and v. 4: fp32 master weights.
double optimizer_bytes_per_parameter(const std::string& optimizer) {
  if (optimizer == "adam") return 12.0;
  if (optimizer == "sgd") return 4.0;
  throw BadInput("optimizer: the article does not know '" + optimizer + "'; adam or sgd");
}

double parameters(const Question& q) { return q.params_billion * 1e9; }

double layer_tokens(const Question& q) {
  return static_cast<double>(q.layers) * static_cast<double>(q.hidden) * static_cast<double>(q.seq);
}

double activations_per_sample(const Question& q) {
  return kActivationFactor * layer_tokens(q) * bytes_per_parameter(q.precision);
}

}  // namespace

Answer will_it_fit(const Question& q) {
  Answer answer{};
  answer.parameters = parameters(q) * bytes_per_parameter(q.precision);
  if (q.training) {
    answer.gradients = answer.parameters;
    answer.optimizer = parameters(q) * optimizer_bytes_per_parameter(q.optimizer);
    answer.activations = activations_per_sample(q) * static_cast<double>(q.batch);
  } else {
    answer.kv_cache = kv_cache_bytes(q);
  }
  answer.fits = answer.total() <= q.vram_gb * kGb;
  return answer;
}

std::int64_t find_max_batch_size(const Question& q) {
  const double weights = parameters(q) * bytes_per_parameter(q.precision);
  const double fixed = 2 * weights + parameters(q) * optimizer_bytes_per_parameter("adam");
  const double rest = q.vram_gb * kGb - fixed;
  return rest <= 0 ? 0 : static_cast<std::int64_t>(std::floor(rest / activations_per_sample(q)));
}

double estimate_multi_gpu_memory(double params_billion, std::int64_t gpus,
                                 const std::string& strategy) {
  if (gpus < 1) throw BadInput("gpus: is " + std::to_string(gpus) + "; a whole number from 1");
  const double per_parameter =
      2 * bytes_per_parameter("fp16") + optimizer_bytes_per_parameter("adam");
  const double all = params_billion * 1e9 * per_parameter;
  if (strategy == "data-parallel") return all;
  if (strategy == "pipeline" || strategy == "fsdp") return all / static_cast<double>(gpus);
  throw BadInput("strategy: the article does not know '" + strategy +
                 "'; one of data-parallel, pipeline, fsdp");
}

double kv_cache_bytes(const Question& q) {
  return 2 * layer_tokens(q) * bytes_per_parameter(q.precision) * static_cast<double>(q.batch);
}

std::optional<std::string> precision_for(Format weights) {
  const FormatRow& row = weights.row();
  if (!is_quantized(weights)) {
    return row.bits > 32 ? std::nullopt : std::optional<std::string>(row.name);
  }
  if (row.element == DType::Fp8) return std::nullopt;
  return "int" + std::to_string(row.bits);
}

std::string optimizer_for(const std::string& optimizer) {
  return optimizer.compare(0, 3, "sgd") == 0 ? "sgd" : "adam";
}

Question question_about(const ModelConfig& config, const std::string& precision, std::int64_t batch,
                        std::int64_t seq) {
  Question question;
  question.params_billion = static_cast<double>(parameter_count(config)) / 1e9;
  question.precision = precision;
  question.batch = batch;
  question.seq = seq;
  question.hidden = config.hidden;
  question.layers = config.layers;
  return question;
}

}  // namespace vramfit::article
