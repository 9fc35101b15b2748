#include "runtimes/pytorch/transformers/modules/causal_lm.h"

#include <algorithm>
#include <type_traits>
#include <unordered_set>

namespace vramfit::pytorch {

CausalLm::CausalLm(Context& context, const ModelConfig& config, const ModelSettings& settings)
    : context_(context), config_(config), settings_(settings) {}

CausalLm::~CausalLm() = default;

void CausalLm::freeze() {
  for (const Tensor& parameter : trainable()) parameter.impl()->requires_grad = false;
}

// peft/utils/other.py, 0.21: parameter by parameter, each cast before what it was goes. A tied head
// has its embedding's own, so that nothing keeps what that was.
void CausalLm::prepare_for_kbit_training() {
  freeze();
  std::unordered_set<const TensorImpl*> parameters;
  for (const NamedModule& named : named_modules()) {
    Linear* const* linear = std::get_if<Linear*>(&named.module);
    for (const Tensor& parameter : parameters_of(named)) {
      const bool is_new = parameters.insert(parameter.impl()).second;
      if (!is_new && linear != nullptr) (*linear)->weight.reset();
    }
  }
  const auto cast = [this](Tensor& tensor) {
    if (!tensor.defined() || !is_half(tensor.type())) return;
    tensor = empty(context_, tensor.sizes(), ScalarType::Float, Category::Parameters);
  };
  for (const NamedModule& named : named_modules()) {
    const LayerScope acts(context_, static_cast<int>(named.layer.value_or(kNoLayer)));
    std::visit(
        [&](auto* module) {
          using Module = std::remove_pointer_t<decltype(module)>;
          bool has_weight = true;
          if constexpr (std::is_same_v<Module, Linear>) {
            has_weight = module->quantized == nullptr && (named.layer || !config_.tied_head);
          }
          if (has_weight) cast(module->weight);
          if constexpr (requires { module->bias; }) cast(module->bias);
        },
        named.module);
  }
  tie_weights();
  context_.tape.empty_cache();
}

void CausalLm::add_lora(std::int64_t rank, const std::vector<std::string>& targets, double dropout,
                        bool upcast) {
  lora_ = true;
  freeze();
  std::vector<Lora*> adapters;
  for (const NamedModule& named : named_modules()) {
    Linear* const* linear = std::get_if<Linear*>(&named.module);
    if (linear == nullptr || !named.layer) continue;
    const std::string name = named.name.substr(named.name.rfind('.') + 1);
    if (std::find(targets.begin(), targets.end(), name) == targets.end()) continue;
    const LayerScope acts(context_, static_cast<int>(*named.layer));
    Linear& base = **linear;
    const ScalarType type = base.quantized ? base.quantized->adapted().type : settings_.type;
    base.lora = Lora{parameter(context_, {rank, base.in()}, type),
                     parameter(context_, {base.out(), rank}, type), dropout};
    adapters.push_back(&*base.lora);
  }
  if (!upcast) return;
  // cast_adapter_dtype
  for (Lora* adapter : adapters) {
    for (Tensor* weight : {&adapter->a, &adapter->b}) {
      if (!is_half(weight->type())) continue;
      const LayerScope acts(*weight);
      *weight = parameter(context_, weight->sizes(), ScalarType::Float);
    }
  }
}

std::vector<Tensor> parameters_of(const CausalLm::NamedModule& named) {
  std::vector<Tensor> all;
  std::visit(
      [&all](const auto* module) {
        bool quantized = false;
        if constexpr (requires { module->quantized; }) {
          if (module->quantized) all.push_back(module->quantized->parameter());
          quantized = module->quantized != nullptr;
        }
        if (!quantized) all.push_back(module->weight);
        if constexpr (requires { module->bias; }) all.push_back(module->bias);
        if constexpr (requires { module->lora; }) {
          if (module->lora) all.insert(all.end(), {module->lora->a, module->lora->b});
        }
      },
      named.module);
  std::erase_if(all, [](const Tensor& tensor) { return !tensor.defined(); });
  return all;
}

std::vector<Tensor> CausalLm::parameters() {
  std::vector<Tensor> all;
  for (const NamedModule& named : named_modules()) {
    for (Tensor& parameter : parameters_of(named)) all.push_back(std::move(parameter));
  }
  // A tied head's is the embedding's.
  if (is_tied()) {
    std::unordered_set<const TensorImpl*> seen;
    std::erase_if(all, [&](const Tensor& each) { return !seen.insert(each.impl()).second; });
  }
  return all;
}

std::vector<Tensor> CausalLm::trainable() {
  std::vector<Tensor> all = parameters();
  std::erase_if(all, [](const Tensor& t) { return !t.impl()->requires_grad; });
  return all;
}

}  // namespace vramfit::pytorch
