#include "runtimes/pytorch/transformers/optimizers/kinds.h"

#include <array>
#include <utility>

#include "model/errors.h"
#include "runtimes/pytorch/torch/optimizers/adafactor.h"
#include "runtimes/pytorch/torch/optimizers/adamw.h"
#include "runtimes/pytorch/torch/optimizers/sgd.h"
#include "runtimes/pytorch/transformers/optimizers/bitsandbytes_adamw.h"
#include "runtimes/pytorch/transformers/optimizers/transformers_adafactor.h"

namespace vramfit::pytorch {
namespace {

using Parameters = std::vector<Tensor>;

/// Made as `T(option, parameters)`.
template <typename T, auto kOption>
std::unique_ptr<Optimizer> make(Parameters parameters) {
  return std::make_unique<T>(kOption, std::move(parameters));
}
template <typename T>
std::unique_ptr<Optimizer> make(Parameters parameters) {
  return std::make_unique<T>(std::move(parameters));
}

struct Row {
  TorchOptimizer kind;
  const char* name;
  const char* title;
  std::unique_ptr<Optimizer> (*make)(Parameters);
};

constexpr std::array<Row, 10> kOptimizers = {{
    {TorchOptimizer::AdamWFused, "adamw-fused", "AdamW, fused", make<AdamW, AdamW::Form::Fused>},
    {TorchOptimizer::AdamW, "adamw", "AdamW, foreach", make<AdamW, AdamW::Form::Foreach>},
    {TorchOptimizer::AdamWLoop, "adamw-loop", "AdamW, loop", make<AdamW, AdamW::Form::Loop>},
    {TorchOptimizer::AdamW8bit, "adamw-8bit", "AdamW, 8-bit", make<BitsandbytesAdamW, kEightBits>},
    {TorchOptimizer::PagedAdamW8bit, "paged-adamw-8bit", "AdamW, 8-bit, paged",
     make<BitsandbytesAdamW, kPagedEightBits>},
    {TorchOptimizer::PagedAdamW32bit, "paged-adamw-32bit", "AdamW, 32-bit, paged",
     make<BitsandbytesAdamW, kPaged32Bits>},
    {TorchOptimizer::Adafactor, "adafactor", "Adafactor", make<Adafactor>},
    {TorchOptimizer::AdafactorTransformers, "adafactor-hf", "Adafactor, transformers’",
     make<TransformersAdafactor>},
    {TorchOptimizer::Sgd, "sgd", "SGD", make<Sgd, false>},
    {TorchOptimizer::SgdMomentum, "sgd-momentum", "SGD with momentum", make<Sgd, true>},
}};

const Row& row_of(TorchOptimizer kind) {
  for (const Row& row : kOptimizers) {
    if (row.kind == kind) return row;
  }
  throw BadInput("optimizer: number " + std::to_string(static_cast<int>(kind)) + " is none of " +
                 optimizer_names());
}

}  // namespace

const std::string& optimizer_names() {
  static const std::string names = [] {
    std::string list;
    for (const Row& row : kOptimizers) list.append(list.empty() ? "" : ", ").append(row.name);
    return list;
  }();
  return names;
}

std::vector<Offer> optimizer_offers() {
  std::vector<Offer> offers;
  for (const Row& row : kOptimizers) offers.push_back({row.name, row.title});
  return offers;
}

TorchOptimizer parse_optimizer(const std::string& text) {
  for (const Row& row : kOptimizers) {
    if (text == row.name) return row.kind;
  }
  throw BadInput("optimizer: unknown '" + text + "' under pytorch; " + optimizer_names());
}

const char* name(TorchOptimizer kind) { return row_of(kind).name; }

std::unique_ptr<Optimizer> make_optimizer(TorchOptimizer kind, std::vector<Tensor> parameters) {
  return row_of(kind).make(std::move(parameters));
}

}  // namespace vramfit::pytorch
