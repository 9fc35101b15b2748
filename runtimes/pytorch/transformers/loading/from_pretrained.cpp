#include "runtimes/pytorch/transformers/loading/from_pretrained.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <string>
#include <string_view>

#include "runtimes/pytorch/torch/memory/caching_allocator.h"
#include "runtimes/pytorch/torch/memory/playback.h"
#include "runtimes/pytorch/torch/ops/view.h"
#include "runtimes/pytorch/transformers/loading/checkpoint_order.h"
#include "runtimes/pytorch/transformers/loading/outlier_draws.h"
#include "runtimes/pytorch/transformers/parallel/tp_plan.h"

namespace vramfit::pytorch {
namespace {

using NamedModule = CausalLm::NamedModule;

/// The linear of a block that bitsandbytes' takes the place of; the head stays what it is, as does
/// whatever is tied to it: get_keys_to_not_convert.
Linear* quantized_linear(const NamedModule& module) {
  Linear* const* linear = std::get_if<Linear*>(&module.module);
  return linear != nullptr && module.layer ? *linear : nullptr;
}

class Loader {
 public:
  Loader(Context& context, CausalLm& model, const ModelConfig& config, const Pretrained& arguments,
         const Fold& fold)
      : context_(context),
        model_(model),
        config_(config),
        arguments_(arguments),
        fold_(fold),
        modules_(model.named_modules()) {}

  DeviceMap load(const DeviceMap* known) {
    use_gpu_once();
    const DeviceMap map = known != nullptr ? *known : device_map();
    warm_up(map.gpu_bytes[static_cast<std::size_t>(arguments_.gpu)]);
    read(map);
    if (arguments_.gpus > 1) model_.place(dispatch(map));
    materialize_buffers();
    model_.tie_weights();
    return map;
  }

  // adjust_max_memory keeps a tenth back where it quantises.
  DeviceMap device_map() const {
    constexpr double kShare = 0.9;
    const std::vector<SizedModule> modules = sized();
    if (!arguments_.auto_device_map) return all_on_gpu(modules);
    std::vector<double> budgets = balanced_memory(modules, arguments_.gpus, free_bytes());
    if (arguments_.quantization) {
      for (double& budget : budgets) budget *= kShare;
    }
    DeviceMap map = infer_auto_device_map(modules, budgets);
    // Here the loader asks for what would have let it place everything.
    if (has_no_room(map, arguments_)) {
      const double all = all_on_gpu(modules).gpu_bytes.front() / arguments_.gpus;
      const double share = arguments_.quantization ? kShare * kShare : kShare;
      empty(context_, {static_cast<std::int64_t>(all / share)}, ScalarType::Byte,
            Category::Parameters);
    }
    return map;
  }

 private:
  /// param_element_size: as if no block had scales.
  double element_bytes(const NamedModule& module, const Tensor& tensor, bool is_weight) const {
    const bool quantized =
        arguments_.quantization && is_weight && quantized_linear(module) != nullptr;
    if (!quantized) return static_cast<double>(element_size(tensor.type()));
    return arguments_.quantization->format == Quantization::Format::Int8 ? 1.0 : 0.5;
  }

  template <typename Visit>  // (suffix, tensor)
  static void each_tensor(const NamedModule& module, const Visit& visit) {
    std::visit(
        [&](auto* m) {
          visit("weight", m->weight);
          if constexpr (requires { m->bias; }) {
            if (m->bias.defined()) visit("bias", m->bias);
          }
        },
        module.module);
  }

  /// get_total_byte_count: of what a tensor parallel plan names each GPU's part, also where it has
  /// all of it.
  double warmed_bytes(const NamedModule& module, const Tensor& tensor, bool is_weight) const {
    const double bytes =
        static_cast<double>(tensor.numel()) * element_bytes(module, tensor, is_weight);
    if (arguments_.tp == 1) return bytes;
    const auto style = tp_style(config_, module.name, module.layer);
    const bool is_rowwise = style == TpStyle::Rowwise || style == TpStyle::RowwiseSplitInput;
    const bool is_whole = style == TpStyle::ReplicatedGradients || (is_rowwise && !is_weight);
    return is_whole ? std::floor(bytes / static_cast<double>(arguments_.tp)) : bytes;
  }

  bool is_tied(const NamedModule& module) const {
    return config_.tied_head && &module == &modules_.back();
  }

  std::vector<SizedModule> sized() const {
    std::vector<SizedModule> all;
    for (const NamedModule& module : modules_) {
      double bytes = 0;
      each_tensor(module, [&](std::string_view suffix, const Tensor& tensor) {
        if (is_tied(module) && suffix == "weight") return;
        const bool is_weight = suffix == "weight";
        bytes += warmed_bytes(module, tensor, is_weight);
      });
      // The first layer counts for those left out, too.
      if (module.layer == 0) bytes *= static_cast<double>(1 + fold_.left_out());
      all.push_back({&module, bytes});
    }
    return all;
  }

  /// What the card has in all, as cudaMemGetInfo says it, and what of it is free or the
  /// allocator's.
  double device_bytes() const {
    return static_cast<double>(context_.capacity) + static_cast<double>(context_.libraries.bytes());
  }
  double free_bytes() const {
    return static_cast<double>(context_.capacity) +
           static_cast<double>(context_.libraries.before_forward());
  }

  Dispatch dispatch(const DeviceMap& map) const {
    Dispatch parts;
    parts.here = arguments_.gpu;
    parts.layers.assign(static_cast<std::size_t>(config_.layers), 0);
    const auto head = modules_.size() - 1;
    for (std::size_t i = 0; i < modules_.size(); ++i) {
      if (const auto layer = modules_[i].layer) {
        parts.layers[static_cast<std::size_t>(*layer)] = map.runs_on(i);
      }
    }
    parts.embedding = map.main_gpu();
    parts.norm = map.runs_on(head - 1);
    parts.head = map.runs_on(head);
    return parts;
  }

  /// Those of the rotary embeddings are beside the last norm.
  void materialize_buffers() {
    const std::vector<Tensor*> all = model_.buffers();
    for (Tensor* buffer : all) {
      const Dispatch* dispatch = model_.dispatch();
      const bool of_embedding = buffer->rank() == 0;
      const int at = dispatch == nullptr ? 0 : of_embedding ? dispatch->embedding : dispatch->norm;
      const OnGpu gpu(context_, dispatch, at);
      materialize(*buffer);
    }
  }

  /// Some small tensor is made before, by accelerate's get_max_memory at the latest, and was where
  /// this was measured. Its segment stays, and counts as memory that need not be taken again.
  void use_gpu_once() {
    empty(context_, {1}, ScalarType::Float, Category::Inputs);
    unused_ = static_cast<double>(CachingAllocator::kSmallBuffer);
  }

  // caching_allocator_warmup: one block for all, given back to the cache at once.
  void warm_up(double bytes) {
    constexpr double kSpared = 1.2 * 1024 * 1024 * 1024;
    if (bytes - unused_ <= unused_) return;  // a model of a few MiB
    bytes -= unused_;
    const auto halves = static_cast<std::int64_t>(std::min(bytes, device_bytes() - kSpared)) / 2;
    if (halves > 0) empty(context_, {halves}, ScalarType::Half, Category::Parameters);
  }

  void materialize(Tensor& tensor) {
    const bool requires_grad = tensor.impl()->requires_grad;
    tensor = empty(context_, tensor.sizes(), tensor.type(), Category::Parameters);
    tensor.impl()->requires_grad = requires_grad;
  }

  /// Tensor by tensor, in the order of their names. Without quantisation four threads read; they
  /// are taken to keep it.
  void read(const DeviceMap& map) {
    struct Entry {
      CheckpointKey key;
      const NamedModule* module;
      Tensor* tensor;
    };
    std::deque<std::string> names;
    std::vector<Entry> entries;
    for (std::size_t i = 0; i < modules_.size(); ++i) {
      const NamedModule& module = modules_[i];
      if (map.gpu[i] != arguments_.gpu) continue;
      each_tensor(module, [&](std::string_view suffix, Tensor& tensor) {
        if (is_tied(module) && suffix == "weight") return;
        const std::string& name = names.emplace_back(module.name).append(".").append(suffix);
        entries.push_back({CheckpointKey(name), &module, &tensor});
      });
    }
    std::sort(entries.begin(), entries.end(),
              [](const Entry& a, const Entry& b) { return a.key < b.key; });
    OutlierDraws draws(fold_, quantized_linears(map));
    for (const Entry& entry : entries) {
      const LayerScope acts(context_, static_cast<int>(entry.module->layer.value_or(kNoLayer)));
      Linear* linear = arguments_.quantization ? quantized_linear(*entry.module) : nullptr;
      if (linear != nullptr && entry.tensor == &linear->weight) {
        const std::int64_t layer = *entry.module->layer;
        OutlierStatistics outliers = draws.next(layer);
        outliers.chance = outlier_chance(config_, entry.module->input,
                                         map.numbers[static_cast<std::size_t>(layer)]);
        quantize_into(*linear, outliers);
      } else {
        materialize(*entry.tensor);
      }
    }
  }

  /// In each layer that is walked, of those on this GPU.
  std::vector<std::int64_t> quantized_linears(const DeviceMap& map) const {
    std::vector<std::int64_t> linears(static_cast<std::size_t>(config_.layers));
    for (std::size_t i = 0; i < modules_.size(); ++i) {
      const bool here = map.gpu[i] == arguments_.gpu;
      if (!here || quantized_linear(modules_[i]) == nullptr) continue;
      ++linears[static_cast<std::size_t>(*modules_[i].layer)];
    }
    return linears;
  }

  void quantize_into(Linear& linear, const OutlierStatistics& outliers) {
    const Tensor stored =
        empty(context_, linear.weight.sizes(), linear.weight.type(), Category::Parameters);
    // Conv1D's is transposed first.
    const Tensor weight = linear.is_transposed() ? t(stored) : stored;
    linear.quantized = quantize(*arguments_.quantization, weight, outliers);
  }

  Context& context_;
  CausalLm& model_;
  const ModelConfig& config_;
  const Pretrained& arguments_;
  const Fold fold_;
  std::vector<NamedModule> modules_;
  double unused_ = 0;  ///< bytes reserved, but not allocated, before anything is read
};

}  // namespace

DeviceMap device_map(Context& context, CausalLm& model, const ModelConfig& config,
                     const Pretrained& arguments) {
  return Loader(context, model, config, arguments, Fold::none(config)).device_map();
}

bool has_no_room(const DeviceMap& map, const Pretrained& arguments) {
  return map.spills() && (arguments.quantization || map.main_gpu() == kHost);
}

DeviceMap from_pretrained(Context& context, CausalLm& model, const ModelConfig& config,
                          const Pretrained& arguments, const Fold& fold, const DeviceMap* map) {
  return Loader(context, model, config, arguments, fold).load(map);
}

}  // namespace vramfit::pytorch
