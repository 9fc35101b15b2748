#include "model/transformer/model_precision.h"

#include <array>

#include "model/errors.h"
#include "model/transformer/parameters.h"

namespace vramfit {
namespace {

constexpr DType kBase = DType::Bf16;

constexpr std::array kPrecisions = {
    ModelPrecision(DType::Fp32),
    ModelPrecision(DType::Fp16),
    ModelPrecision(DType::Bf16),
    // cuBLASLt scales rows and columns of fp8 products from Hopper on.
    ModelPrecision("fp8", kBase, DType::Fp8, DType::Fp8, true, 90),
    ModelPrecision("int8", kBase, DType::Int8, DType::Int8, false, 80),
    ModelPrecision("int8-wo", kBase, DType::Int8, kBase, false, 80),
    ModelPrecision("nf4", kBase, *Format::named("nf4"), kBase, false, 80),
    ModelPrecision("int4", kBase, *Format::named("int4"), kBase, false, 80),
    ModelPrecision(DType::Fp64),
};

/// "fp32, fp16, bf16", of those that the test passes.
template <typename Test>
std::string listed(const Test& test, const std::string& last_comma = ", ") {
  std::string list;
  std::string last;
  for (const ModelPrecision& row : kPrecisions) {
    if (!test(row)) continue;
    if (!last.empty()) list += (list.empty() ? "" : ", ") + last;
    last = row.name;
  }
  return list + (list.empty() ? "" : last_comma) + last;
}

}  // namespace

std::span<const ModelPrecision> model_precisions() { return kPrecisions; }

std::string quantized_precisions(const std::string& last_comma) {
  return listed([](const auto& row) { return row.quantized(); }, last_comma);
}

Precisions ModelPrecision::precisions(bool quantize_head) const {
  Precisions result = Precisions::plain(activations);
  result.linears = linears;
  result.linear_inputs = inputs;
  if (quantize_head) result.head = linears;
  return result;
}

Precisions ModelPrecision::trained_precisions() const {
  Precisions result = Precisions::plain(activations);
  if (!quantized()) return result;
  result.products = inputs;
  return result;
}

ModelPrecision parse_model_precision(const std::string& text) {
  for (const ModelPrecision& row : kPrecisions) {
    if (text == row.name) return row;
  }
  throw BadInput("precision: unknown '" + text + "'; one of " +
                 listed([](const auto& row) { return row.activations != DType::Fp64; }));
}

void require_arch(const ModelPrecision& precision, Arch arch) {
  if (arch.sm >= precision.sm) return;
  const std::string older =
      listed([](const auto& row) { return row.quantized() && row.sm <= 80; }, " or ");
  throw BadInput(std::string("precision: ") + precision.name + " needs sm_" +
                 std::to_string(precision.sm) + " or newer, and this GPU is sm_" +
                 std::to_string(arch.sm) + "; " + older + " where it is sm_80, or bf16");
}

void require_linears(const ModelConfig& config, const ModelPrecision& precision,
                     bool quantize_head) {
  if (!precision.quantized()) {
    if (!quantize_head) return;
    throw BadInput(std::string("head: precision ") + precision.name + " quantises nothing; " +
                   quantized_precisions(" or "));
  }
  if (quantize_head && config.tied_head) {
    throw BadInput("head: the head of " + config.name +
                   " is its token embedding, which stays in 16 bits");
  }
  const std::int64_t in_multiple = precision.linears.row().multiple();
  const std::int64_t out_multiple = precision.linears == precision.inputs ? 16 : 1;
  ModelConfig one_block = config;
  one_block.layers = 1;
  for (const ParameterSpec& spec : parameter_specs(one_block)) {
    if (!is_linear(spec.role) && !(quantize_head && spec.role == Role::HeadWeight)) continue;
    const std::int64_t out = spec.stored[0];
    const std::int64_t in = spec.stored[1];
    if (in % in_multiple == 0 && out % out_multiple == 0) continue;
    throw BadInput(std::string("precision: ") + precision.name +
                   " wants sizes that are multiples of " +
                   std::to_string(in % in_multiple != 0 ? in_multiple : out_multiple) + "; " +
                   spec.name.base() + " of " + config.name + " is " + std::to_string(out) + " x " +
                   std::to_string(in) + ": bf16, or another format");
  }
}

}  // namespace vramfit
