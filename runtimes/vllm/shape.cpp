#include "runtimes/vllm/shape.h"

#include <algorithm>
#include <string_view>

#include "model/config/limits.h"
#include "model/errors.h"
#include "runtimes/vllm/architectures.h"
#include "runtimes/vllm/config.h"
#include "runtimes/vllm/layers.h"
#include "runtimes/vllm/limits.h"
#include "runtimes/vllm/rotations.h"
#include "runtimes/vllm/seeing.h"
#include "runtimes/vllm/spellings.h"
#include "runtimes/vllm/stored_as.h"
#include "runtimes/vllm/tower.h"

namespace vramfit::vllm {
namespace {

void take_architecture(Shape& shape, const Architecture& of) {
  shape.architecture = of.name;
  shape.gated = of.gated;
  shape.norms = of.norms;
  shape.outlived = of.outlived;
  shape.outlived_attending = of.outlived_attending;
  shape.sums_elsewhere = of.sums_elsewhere;
  shape.hands_on = of.hands_on;
  shape.rotates_apart = of.by_transformers;
  shape.fused = of.fused;
  shape.frees_up = of.frees_up;
  shape.adapted = of.adapted;
  if (of.biased) shape.qkv_bias = shape.out_bias = shape.mlp_bias = true;
  if (of.qkv_bias) shape.qkv_bias = true;
  if (of.out_bias) shape.out_bias = true;
  shape.norm_bias = of.norm_bias;
  shape.head_bias = of.head_bias;
  shape.gated_attention = of.gated_attention;
  shape.qk_norm = of.qk_norm;
  shape.rotary_in_fp32 = of.name == "GptOssForCausalLM";
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

/// Which products add a row: what the config calls attention_bias or bias is of queries, keys and
/// values, of some classes of what comes out, too.
void take_biases(Shape& shape, const Config& config, const Architecture& architecture) {
  const bool biased = config.truth("attention_bias", false) || config.truth("bias", false);
  if (config.truth("qkv_bias", config.truth("use_qkv_bias", biased))) shape.qkv_bias = true;
  if (biased && architecture.out_bias_too) shape.out_bias = true;
  if (config.truth("mlp_bias", false)) shape.mlp_bias = true;
  if (architecture.may_norm && !config.truth("use_qk_norm", false)) shape.qk_norm = QkNorm::None;
}

}  // namespace

Shape shape_as(const Config& theirs, const std::string& name, const Architecture& architecture) {
  const std::string_view cls = architecture.name;
  const Config config = spelled(theirs, cls);
  Shape shape;
  shape.name = name;
  take_architecture(shape, architecture);
  shape.hidden = config.integer({"hidden_size", "n_embd"}, kMostHidden);
  shape.vocab = config.integer({"vocab_size"}, kMaxVocab);
  shape.positions = config.integer_or(
      cls.starts_with("Cohere")
          ? std::initializer_list<const char*>{"model_max_length", "max_position_embeddings"}
          : std::initializer_list<const char*>{"max_position_embeddings", "n_positions",
                                               "seq_length"},
      2048, 1);
  const bool tied = config.truth("tie_embedding", architecture.tied);
  shape.tied = config.truth("tie_word_embeddings", tied);
  take_biases(shape, config, architecture);
  for (const char* key :
       {"logit_scale", "logits_scaling", "final_logit_softcapping", "lm_head_multiplier"}) {
    if (config.json().has(key)) shape.scaled_logits = true;
  }
  shape.learned_positions = cls == "GPT2LMHeadModel";
  add_layers(shape, config, architecture);
  if (cls == "FalconForCausalLM") take_falcon(shape, config);
  const Layer& first = shape.layers.front();
  const char* share = config.json().has("rotary_pct") ? "rotary_pct" : "partial_rotary_factor";
  const double part = config.json().number_or(share, architecture.rotated, 0, 1);
  const std::int64_t rotated =
      shape.latent.kv_rank > 0
          ? shape.latent.rope
          : config.integer_or({"rotary_dim"}, static_cast<std::int64_t>(
                                                  part * static_cast<double>(first.head_dim)));
  const bool rotates =
      architecture.rotates && (cls != "GraniteMoeHybridForCausalLM" ||
                               config.json().text_or("position_embedding_type", "nope") == "rope");
  if (!shape.learned_positions && rotates)
    add_rotations(shape, shape.positions, rotated,
                  cls == "Gemma3ForCausalLM" ||
                      (cls == "Olmo3ForCausalLM" && config.json().has("rope_scaling")));
  take_scaling(shape, config);
  shape.rotations = rotations_of(config) + std::to_string(rotated);
  add_quantization(shape, config);
  return shape;
}

bool runs_family(std::string_view model_type) { return family_of(model_type) != nullptr; }

bool Shape::second_runner() const {
  if (hybrid()) return false;
  return !mixture() || architecture_named(architecture)->second_runner;
}

Shape shape_of(const ModelSource& source) {
  const Config config = Config::parse(source.config, source.name);
  const std::string cls = config.architecture();
  const Seeing* seeing = seeing_named(cls);
  const Architecture* architecture = architecture_named(seeing == nullptr ? cls : seeing->text);
  if (const std::string_view last = last_release_of(cls); !last.empty()) {
    throw BadInput(source.name + ": vLLM has not run " + cls + " since " + std::string(last) +
                   "; another runtime");
  }
  if (architecture == nullptr) {
    throw BadInput(source.name + ": what vLLM's " + cls +
                   " takes is not predicted here; vramfit run -- vllm serve runs it without a GPU");
  }
  if (seeing == nullptr) return shape_as(config, source.name, *architecture);
  Shape shape = shape_as(config.over(seeing->usual), source.name, *architecture);
  shape.sees = true;
  shape.sees_videos = seeing->videos;
  shape.tower_may_be_whole = seeing->may_be_whole;
  shape.tower = tower_of(config, cls);
  shape.shown = shown_to(config, cls);
  const auto deep = config.size_of("vision_config", "deepstack_visual_indexes");
  shape.deep = static_cast<std::int64_t>(deep);
  shape.rotary_rows *= seeing->rows;
  return shape;
}

Shape shape_of(const ModelConfig& model) {
  if (model.source != nullptr && !model.source->config.empty()) {
    const std::string cls = Config::parse(model.source->config, model.name).architecture_or("");
    if (seeing_named(cls) != nullptr) return shape_of(*model.source);
  }
  const Family* family = family_of(model.family);
  // Without heads it was read here.
  if (family != nullptr && !model.taped && model.heads > 0) {
    Shape shape = shape_of_family(model, *family);
    if (model.source != nullptr && !model.source->config.empty()) {
      const Config config = Config::parse(model.source->config, model.name);
      add_quantization(shape, config);
      take_scaling(shape, config);
      shape.rotations = rotations_of(config) + std::to_string(shape.rotary_dim);
    }
    return shape;
  }
  if (model.source == nullptr || model.source->config.empty()) {
    throw BadInput("model: vLLM reads a config.json; --model NAME or --config PATH");
  }
  return shape_of(*model.source);
}

ModelConfig described(const ModelSource& source) {
  if (source.gguf != nullptr) {
    throw BadInput("gguf: vLLM's reading of GGUF files is not predicted; --runtime llama.cpp");
  }
  const Config config = Config::parse(source.config, source.name);
  // A head that drafts is read by itself, too, though nothing runs it alone.
  const Architecture* head = layers_of_head(config.architecture());
  const Shape shape = head == nullptr ? shape_of(source) : shape_as(config, source.name, *head);
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
