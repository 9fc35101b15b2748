#include "model/transformer/assumed_llama.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "model/checked.h"
#include "model/config/limits.h"
#include "model/errors.h"
#include "model/transformer/parameters.h"

namespace vramfit {
namespace {

constexpr std::int64_t kLlamaHeadDim = 128;
constexpr double kTolerance = 0.10;
constexpr std::int64_t kMaxAssumedHidden = 32768;
constexpr double kMaxParameters = 1e15;

ModelConfig llama_shape(std::int64_t hidden, std::int64_t layers) {
  ModelConfig config;
  config.family = "llama";
  config.layers = layers;
  config.hidden = hidden;
  config.head_dim = kLlamaHeadDim;
  config.heads = config.kv_heads = hidden / config.head_dim;
  // Llama's rule: two thirds of 4·hidden, rounded up to a multiple of 256.
  config.ffn = round_up(8 * hidden / 3, std::int64_t{256});
  config.vocab = 32000;
  config.norm_eps = 1e-5F;
  config.rope = Rope{};
  return config;
}

double distance(const ModelConfig& config, double parameters) {
  return std::abs(static_cast<double>(parameter_count(config)) / parameters - 1.0);
}

/// The depth that comes closest to `parameters` at this width: the count is linear in the layers.
std::int64_t nearest_depth(double parameters, std::int64_t hidden, std::int64_t low,
                           std::int64_t high) {
  const auto one = static_cast<double>(parameter_count(llama_shape(hidden, 1)));
  const auto two = static_cast<double>(parameter_count(llama_shape(hidden, 2)));
  const double depth = 1.0 + (parameters - one) / (two - one);
  return std::llround(std::clamp(depth, static_cast<double>(low), static_cast<double>(high)));
}

/// Published llamas have about one layer for every 128 of hidden; within a quarter of that, the
/// width and depth that come closest.
ModelConfig nearest_llama(double parameters, std::optional<std::int64_t> hidden,
                          std::optional<std::int64_t> layers) {
  if (hidden && !layers) {
    return llama_shape(*hidden, nearest_depth(parameters, *hidden, 1, kMaxLayers));
  }
  ModelConfig best;
  for (std::int64_t h = kLlamaHeadDim; h <= kMaxAssumedHidden; h += kLlamaHeadDim) {
    const std::int64_t usual = h / 128;
    const std::int64_t depth =
        layers
            ? *layers
            : nearest_depth(parameters, h, std::max<std::int64_t>(1, usual * 3 / 4), usual * 5 / 4);
    const ModelConfig candidate = llama_shape(h, depth);
    if (best.layers == 0 || distance(candidate, parameters) < distance(best, parameters)) {
      best = candidate;
    }
  }
  return best;
}

/// " of hidden 4096 and 2 layers": what the question leaves no choice in.
std::string given(std::optional<std::int64_t> hidden, std::optional<std::int64_t> layers) {
  std::string text;
  if (hidden) text = " of hidden " + std::to_string(*hidden);
  if (layers) text += (text.empty() ? " of " : " and ") + std::to_string(*layers) + " layers";
  return text;
}

/// The positions of llamas with such a vocabulary.
constexpr std::int64_t kLlamaPositions = 4096;

/// A config.json of that shape, for runtimes that read one themselves.
std::shared_ptr<const ModelSource> source_of(const ModelConfig& config) {
  const nlohmann::json json = {{"architectures", {"LlamaForCausalLM"}},
                               {"model_type", "llama"},
                               {"num_hidden_layers", config.layers},
                               {"hidden_size", config.hidden},
                               {"head_dim", config.head_dim},
                               {"num_attention_heads", config.heads},
                               {"num_key_value_heads", config.kv_heads},
                               {"intermediate_size", config.ffn},
                               {"vocab_size", config.vocab},
                               {"max_position_embeddings", kLlamaPositions},
                               {"rms_norm_eps", config.norm_eps},
                               {"tie_word_embeddings", config.tied_head}};
  return std::make_shared<const ModelSource>(ModelSource{config.name, json.dump()});
}

}  // namespace

ModelConfig assumed_llama(double parameters, std::optional<std::int64_t> hidden,
                          std::optional<std::int64_t> layers) {
  if (hidden && (*hidden < 1 || *hidden > kMaxAssumedHidden || *hidden % kLlamaHeadDim != 0)) {
    throw BadInput("hidden: is " + std::to_string(*hidden) +
                   "; a multiple of 128, which a head is wide, from 128 to 32768");
  }
  if (layers && (*layers < 1 || *layers > kMaxLayers)) {
    throw BadInput("layers: is " + std::to_string(*layers) + "; a whole number from 1 to " +
                   std::to_string(kMaxLayers));
  }
  if (!(parameters >= 1 && parameters <= kMaxParameters)) {
    throw BadInput("params: out of range; a number from 1 to 1e15");
  }
  ModelConfig config =
      hidden && layers ? llama_shape(*hidden, *layers) : nearest_llama(parameters, hidden, layers);
  if (distance(config, parameters) > kTolerance) {
    throw BadInput("params: is " + std::to_string(std::llround(parameters)) +
                   "; no llama-shaped model comes within 10 %, the nearest" +
                   given(hidden, layers) + " has " + std::to_string(parameter_count(config)));
  }
  config.name = "llama-shaped";
  config.notes.push_back("shape assumed: " + std::to_string(config.layers) + " layers, hidden " +
                         std::to_string(config.hidden) + ", ffn " + std::to_string(config.ffn) +
                         ", vocab 32000");
  config.source = source_of(config);
  return config;
}

}  // namespace vramfit
