#include "tests/runtimes/pytorch/cases.h"

#include <fstream>
#include <stdexcept>

#include "estimator/budget.h"
#include "estimator/card_names.h"
#include "model/config/hugging_face.h"

namespace vramfit::pytorch {

using Json = nlohmann::json;

std::vector<Json> read_lines(const std::string& path) {
  std::ifstream file(path);
  std::vector<Json> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(Json::parse(line));
  if (lines.empty()) throw std::runtime_error(path + ": cannot be read, or is empty");
  return lines;
}

Gpu h200() { return gpu_of(budget_of(card_named("h200"))); }

const Release& measured_release() { return release_named("2.11"); }

ModelConfig model_of(const Json& test_case) {
  return parse_hugging_face(test_case.at("arch").dump(), test_case.at("model"));
}

std::optional<Pretrained> pretrained_of(const Json& test_case) {
  const std::string quant = test_case.value("quant", "");
  if (quant.empty() && !test_case.value("pretrained", false)) return std::nullopt;
  Pretrained arguments;
  if (quant.empty()) return arguments;
  Quantization& quantization = arguments.quantization.emplace();
  using Format = Quantization::Format;
  // "bare4" is load_in_4bit by itself: fp4, with arithmetic in fp32.
  const bool bare = quant == "bare4";
  const bool four = quant == "fp4" || bare;
  quantization.format = quant == "int8" ? Format::Int8 : four ? Format::Fp4 : Format::Nf4;
  quantization.double_quant = quant == "nf4-dq";
  const bool half = test_case.at("dtype") == "fp16";
  quantization.compute = bare ? ScalarType::Float : half ? ScalarType::Half : ScalarType::BFloat16;
  return arguments;
}

TorchTraining training_of(const Json& test_case) {
  std::string optimizer = test_case.value("opt", "adamw");
  if (optimizer == "adamw_fused") optimizer = "adamw-fused";
  if (optimizer == "adamw_loop") optimizer = "adamw-loop";
  if (optimizer == "sgdm") optimizer = "sgd-momentum";
  if (optimizer == "adamw8bit") optimizer = "adamw-8bit";
  if (optimizer == "paged_adamw8bit") optimizer = "paged-adamw-8bit";
  TorchTraining options;
  options.precision = parse_precision(test_case.at("dtype"));
  if (test_case.contains("amp")) options.autocast = parse_precision(test_case.at("amp"));
  if (test_case.value("attn", "sdpa") == "eager") options.attention = AttentionKind::Eager;
  options.optimizer = parse_optimizer(optimizer);
  if (test_case.value("ckpt", false)) options.checkpoint = GradientCheckpointing::Full;
  if (test_case.contains("lora")) {
    const Json& lora = test_case.at("lora");
    options.lora = LoraConfig{lora.at("r"), lora.at("targets").get<std::vector<std::string>>()};
  }
  options.batch = test_case.value("b", 1);
  options.seq = test_case.at("s");
  options.accumulate = test_case.value("accum", 1);
  options.pretrained = pretrained_of(test_case);
  return options;
}

TorchGeneration generation_of(const Json& test_case, const Json& point) {
  TorchGeneration options;
  options.precision = parse_precision(test_case.at("dtype"));
  if (test_case.value("attn", "sdpa") == "eager") options.attention = AttentionKind::Eager;
  options.batch = point.at(0);
  options.seq = point.at(1);
  options.generate = test_case.value("new_tokens", 1);
  options.pretrained = pretrained_of(test_case);
  options.static_cache = test_case.value("static_cache", false);
  options.again = test_case.value("again", false);
  // measure_pytorch_more.py's prompts hold no padding.
  if (test_case.contains("padded")) options.padded = test_case.at("padded").get<bool>();
  return options;
}

bool is_modelled(const Json& test_case) {
  return !test_case.contains("compile") && test_case.at("arch").at("model_type") != "mixtral";
}

std::string title_of(const Json& test_case) {
  Json rest = test_case;
  rest.erase("arch");
  rest.erase("timeout");
  rest.erase("time_steps");
  return rest.dump();
}

}  // namespace vramfit::pytorch
