#include "runtimes/vllm/shape.h"

#include <algorithm>
#include <string_view>

#include "model/config/limits.h"
#include "model/errors.h"
#include "runtimes/vllm/architectures.h"
#include "runtimes/vllm/config.h"

namespace vramfit::vllm {
namespace {

// So that bytes of all layers together stay within 64 bits.
constexpr std::int64_t kMostHidden = 1 << 18;
constexpr std::int64_t kMostWidth = 1 << 20;  ///< of all heads, of an MLP
constexpr std::int64_t kMostExperts = 1 << 12;
constexpr std::int64_t kScaleTile = 128;  ///< weight_block_size, the only one that is published

void take_architecture(Shape& shape, const Architecture& of) {
  shape.architecture = of.name;
  shape.gated = of.gated;
  shape.norms = of.norms;
  shape.outlived = of.outlived;
  shape.fused = of.fused;
  shape.frees_up = of.frees_up;
  shape.adapted = of.adapted;
  if (of.biased) shape.qkv_bias = shape.out_bias = shape.mlp_bias = true;
  if (of.qkv_bias) shape.qkv_bias = true;
  if (of.out_bias) shape.out_bias = true;
  shape.norm_bias = of.norm_bias;
  shape.qk_norm = of.qk_norm;
  shape.rotary_in_fp32 = of.name == "GptOssForCausalLM";
}

/// Tables of rotations that its layers share: of each kind of layer one, where kinds differ.
void add_rotations(Shape& shape, std::int64_t rows, std::int64_t dim, bool a_kind_each) {
  shape.rotary_rows = rows;
  shape.rotary_dim = dim;
  const auto slides = [](const Layer& layer) { return layer.keeps == Keeps::Window; };
  const bool both = std::any_of(shape.layers.begin(), shape.layers.end(), slides) &&
                    !std::all_of(shape.layers.begin(), shape.layers.end(), slides);
  shape.rotary_tables = a_kind_each && both ? 2 : 1;
}

Shape shape_of_family(const ModelConfig& model, const Family& family) {
  Shape shape;
  shape.name = model.name;
  take_architecture(shape, *architecture_named(family.architecture));
  shape.hidden = model.hidden;
  shape.vocab = model.vocab;
  shape.positions = model.max_positions;
  shape.tied = model.tied_head;
  shape.gated = model.activation != ActivationKind::Gelu;
  shape.learned_positions = model.learned_positions();
  shape.qkv_bias = model.qkv_bias;
  shape.out_bias = model.out_bias;
  shape.mlp_bias = model.mlp_bias;
  shape.head_bias = model.head_bias;
  shape.scaled_logits = model.logits_softcap || model.family == "granite";
  for (std::int64_t i = 0; i < model.layers; ++i) {
    Layer layer{.heads = model.heads,
                .kv_heads = model.kv_heads,
                .head_dim = model.head_dim,
                .ffn = model.ffn};
    if (model.slides(i)) {
      layer.keeps = Keeps::Window;
      layer.window = *model.sliding_window;
    }
    shape.layers.push_back(layer);
  }
  if (model.rope) {
    add_rotations(shape, std::max<std::int64_t>(model.max_positions, 1), model.rotary_dim(),
                  model.family == "gemma3_text");
  }
  return shape;
}

Experts experts_of(const Config& config, std::string_view architecture) {
  Experts experts;
  experts.biased = architecture == "GptOssForCausalLM";
  experts.router_in_fp32 = architecture == "Glm4MoeForCausalLM";
  experts.count =
      config.integer({"num_local_experts", "num_experts", "n_routed_experts"}, kMostExperts);
  experts.used = config.integer({"num_experts_per_tok"}, experts.count);
  experts.width = config.integer({"moe_intermediate_size", "intermediate_size"}, kMostWidth);
  experts.shared = config.integer_or({"shared_expert_intermediate_size"}, 0);
  if (experts.shared == 0) {
    experts.shared = config.integer_or({"n_shared_experts"}, 0) * experts.width;
  }
  return experts;
}

/// Whether the layer's MLP is a mixture, by the keys that families have for it.
bool is_mixture(const Config& config, std::int64_t layer) {
  if (layer < config.integer_or({"first_k_dense_replace"}, 0)) return false;
  const std::vector<std::int64_t> dense = config.integers("mlp_only_layers");
  if (std::find(dense.begin(), dense.end(), layer) != dense.end()) return false;
  const std::int64_t step = config.integer_or({"decoder_sparse_step", "moe_layer_freq"}, 1);
  return step <= 1 ||
         (config.model_type().starts_with("qwen") ? (layer + 1) % step == 0 : layer % step == 0);
}

std::int64_t window_of(const Config& config) {
  if (!config.truth("use_sliding_window", true)) return 0;
  return config.integer_or({"sliding_window"}, 0);
}

Latent latent_of(const Config& config) {
  return {.q_rank = config.integer_or({"q_lora_rank"}, 0),
          .kv_rank = config.integer({"kv_lora_rank"}),
          .nope = config.integer({"qk_nope_head_dim"}),
          .rope = config.integer({"qk_rope_head_dim"}),
          .value = config.integer({"v_head_dim"})};
}

Linear linear_of(const Config& config) {
  return {.key_heads = config.integer({"linear_num_key_heads"}),
          .value_heads = config.integer({"linear_num_value_heads"}),
          .key_dim = config.integer({"linear_key_head_dim"}),
          .value_dim = config.integer({"linear_value_head_dim"}),
          .kernel = config.integer({"linear_conv_kernel_dim"})};
}

void require_heads(const Config& config, const Layer& layer) {
  if (layer.head_dim < 1) {
    config.json().fail("head_dim", "is 0, or hidden_size less than num_attention_heads; 1 or more");
  }
  if (layer.kv_heads < 1) config.json().fail("num_key_value_heads", "is 0; 1 or more");
  if (layer.head_dim > kMostWidth / std::max(layer.heads, layer.kv_heads)) {
    config.json().fail("head_dim", "is so large that all heads together are wider than " +
                                       std::to_string(kMostWidth) + "; less");
  }
}

void add_layers(Shape& shape, const Config& config) {
  const std::int64_t count = config.integer({"num_hidden_layers", "n_layer"}, kMaxLayers);
  const std::vector<std::string> types = config.texts("layer_types");
  const std::int64_t window = window_of(config);
  const std::int64_t pattern = config.integer_or({"sliding_window_pattern"},
                                                 architecture_named(shape.architecture)->pattern);
  Layer layer;
  layer.heads = config.integer({"num_attention_heads", "n_head"});
  layer.kv_heads = config.integer_or({"num_key_value_heads", "num_kv_heads"}, layer.heads);
  if (config.truth("multi_query", false) && !config.truth("new_decoder_architecture", false)) {
    layer.kv_heads = 1;
  }
  layer.head_dim = config.integer_or({"head_dim"}, shape.hidden / layer.heads);
  require_heads(config, layer);
  const bool latent = config.json().has("kv_lora_rank");
  if (latent) shape.latent = latent_of(config);
  const bool hybrid = config.json().has("linear_conv_kernel_dim");
  if (hybrid) shape.linear = linear_of(config);
  shape.gated_attention = hybrid;
  const std::int64_t interval = config.integer_or({"full_attention_interval"}, 4, 1);
  for (std::int64_t i = 0; i < count; ++i) {
    Layer one = layer;
    const auto at = static_cast<std::size_t>(i);
    const bool slides = at < types.size()
                            ? types[at] == "sliding_attention"
                            : types.empty() && (pattern == 0 || (i + 1) % pattern != 0);
    if (latent) {
      one.keeps = Keeps::Latent;
      one.kv_heads = 1;
      one.head_dim = shape.latent.kv_rank + shape.latent.rope;
    } else if (hybrid &&
               (at < types.size() ? types[at] == "linear_attention" : (i + 1) % interval != 0)) {
      one.keeps = Keeps::State;
    } else if (slides && window > 0) {
      one.keeps = Keeps::Window;
      one.window = window;
    }
    one.experts = shape.mixture() && is_mixture(config, i);
    if (!one.experts) {
      one.ffn = std::min(
          config.integer_or({"intermediate_size", "ffn_hidden_size", "n_inner"}, 4 * shape.hidden),
          kMaxFfn);
    }
    shape.layers.push_back(one);
  }
}

/// Of llm-compressor's groups one, of all linears; what it leaves out is whole anyway.
void add_compressed(Shape& shape, const JsonReader& stored) {
  const auto groups = stored.object("config_groups");
  const std::vector<std::string> names = groups ? groups->keys() : std::vector<std::string>();
  if (names.size() != 1) stored.fail("config_groups", "are several, or none; one of all linears");
  const auto weights = groups->object(names.front().c_str())->object("weights");
  if (!weights)
    stored.fail("config_groups", "leave weights whole; one that says how they are stored");
  shape.bits = weights->integer_or("num_bits", 8, 1, 16);
  shape.floats = weights->text_or("type", "int") == "float";
  const std::string strategy = weights->text_or("strategy", "tensor");
  shape.group = strategy == "group" ? weights->integer("group_size", 1, 1 << 16) : 0;
  shape.row_scales = strategy == "channel";
  if (strategy == "block") shape.scale_tile = kScaleTile;
  shape.zero_points = !weights->boolean_or("symmetric", true);
  shape.byte_inputs =
      groups->object(names.front().c_str())->object("input_activations").has_value();
  shape.packed = stored.text_or("format", "") == "pack-quantized";
}

void add_quantization(Shape& shape, const Config& config) {
  const auto stored = config.object("quantization_config");
  if (!stored) return;
  shape.quantization = stored->text_or("quant_method", "");
  shape.bits = stored->integer_or("bits", 4, 1, 16);
  shape.group = stored->integer_or("group_size", 128, -1, 1 << 16);
  shape.zero_points = stored->boolean_or("zero_point", false);
  if (shape.quantization == "compressed-tensors") add_compressed(shape, *stored);
  if (stored->has("weight_block_size")) shape.scale_tile = kScaleTile;
}

/// Its attention is given no cache's settings (falcon.py); in a layer of its newer kind both halves
/// have a norm, whose outputs live beside each other.
void take_falcon(Shape& shape, const Config& config) {
  shape.keeps_own_type = !config.truth("alibi", false);
  if (config.truth("new_decoder_architecture", false)) {
    shape.outlived = 1;
    shape.normed_twice = true;
  } else if (config.truth("parallel_attn", true)) {
    shape.norms = 1;
  }
}

/// LongRoPE: requests are as long as before it was stretched, unless more is asked for, and
/// rotations are there for both.
void take_long_rope(Shape& shape, const Config& config) {
  const auto scaling = config.object("rope_scaling");
  if (!scaling) return;
  const std::string type = scaling->text_or("rope_type", scaling->text_or("type", ""));
  if (type != "longrope" && type != "su") return;
  shape.usual_length = config.integer_or({"original_max_position_embeddings"}, 0);
  shape.rotary_rows += shape.usual_length;
}

Shape shape_of_config(const Config& config, const std::string& name) {
  const std::string cls = config.architecture();
  const Architecture* architecture = architecture_named(cls);
  if (architecture == nullptr) {
    throw BadInput(name + ": what vLLM's " + cls +
                   " takes is not predicted here; vramfit run -- vllm serve runs it without a GPU");
  }
  Shape shape;
  shape.name = name;
  take_architecture(shape, *architecture);
  shape.hidden = config.integer({"hidden_size", "n_embd"}, kMostHidden);
  shape.vocab = config.integer({"vocab_size"}, kMaxVocab);
  shape.positions = config.integer_or(
      cls.starts_with("Cohere")
          ? std::initializer_list<const char*>{"model_max_length", "max_position_embeddings"}
          : std::initializer_list<const char*>{"max_position_embeddings", "n_positions",
                                               "seq_length"},
      2048, 1);
  shape.tied = config.truth("tie_word_embeddings", architecture->tied);
  if (config.truth("attention_bias", false)) shape.qkv_bias = true;
  for (const char* key : {"logit_scale", "logits_scaling", "final_logit_softcapping"}) {
    if (config.json().has(key)) shape.scaled_logits = true;
  }
  shape.head_bias = cls == "PhiForCausalLM";
  shape.learned_positions = cls == "GPT2LMHeadModel";
  if (architecture->experts) shape.experts = experts_of(config, cls);
  add_layers(shape, config);
  if (cls == "FalconForCausalLM") take_falcon(shape, config);
  const Layer& first = shape.layers.front();
  const char* share = config.json().has("rotary_pct") ? "rotary_pct" : "partial_rotary_factor";
  const double part = config.json().number_or(share, 1, 0, 1);
  const std::int64_t rotated =
      shape.latent.kv_rank > 0
          ? shape.latent.rope
          : static_cast<std::int64_t>(part * static_cast<double>(first.head_dim));
  if (!shape.learned_positions)
    add_rotations(shape, shape.positions, rotated,
                  cls == "Olmo3ForCausalLM" && config.json().has("rope_scaling"));
  take_long_rope(shape, config);
  add_quantization(shape, config);
  return shape;
}

}  // namespace

bool runs_family(std::string_view model_type) { return family_of(model_type) != nullptr; }

bool Shape::second_runner() const {
  if (hybrid()) return false;
  return !mixture() || architecture_named(architecture)->second_runner;
}

Shape shape_of(const ModelConfig& model) {
  const Family* family = family_of(model.family);
  // Without heads it was read here.
  if (family != nullptr && !model.taped && model.heads > 0) {
    Shape shape = shape_of_family(model, *family);
    if (model.source != nullptr && !model.source->config.empty()) {
      const Config config = Config::parse(model.source->config, model.name);
      add_quantization(shape, config);
      take_long_rope(shape, config);
    }
    return shape;
  }
  if (model.source == nullptr || model.source->config.empty()) {
    throw BadInput("model: vLLM reads a config.json; --model NAME or --config PATH");
  }
  return shape_of_config(Config::parse(model.source->config, model.name), model.name);
}

ModelConfig described(const ModelSource& source) {
  if (source.gguf != nullptr) {
    throw BadInput("gguf: vLLM's reading of GGUF files is not predicted; --runtime llama.cpp");
  }
  const Config config = Config::parse(source.config, source.name);
  const Shape shape = shape_of_config(config, source.name);
  ModelConfig model;
  model.name = source.name;
  model.family = config.model_type();
  model.dtype = config.json().text_or("dtype", config.json().text_or("torch_dtype", "bfloat16"));
  model.layers = static_cast<std::int64_t>(shape.layers.size());
  model.hidden = shape.hidden;
  model.vocab = shape.vocab;
  model.max_positions = shape.positions;
  model.rope.emplace();
  return model;
}

}  // namespace vramfit::vllm
