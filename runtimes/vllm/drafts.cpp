#include "runtimes/vllm/drafts.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include "model/errors.h"
#include "runtimes/vllm/architectures.h"
#include "runtimes/vllm/config.h"
#include "runtimes/vllm/limits.h"
#include "runtimes/vllm/partition.h"

namespace vramfit::vllm {
namespace {

constexpr std::int64_t kPutTogether = 3;  ///< low, middle and high (llama_eagle3.py)

/// Whose checkpoints have layers that predict further tokens, by their own kind of layer.
constexpr std::array kPredicting = {"DeepseekV3ForCausalLM", "Glm4MoeForCausalLM",
                                    "Qwen3NextForCausalLM"};

/// Of layers that states were put together of, as many as the config lists, or says.
std::int64_t put_together(const Config& config) {
  const auto eagle = config.object("eagle_config");
  if (eagle && !eagle->boolean_or("use_aux_hidden_state", true)) return 0;
  return config.integer_or({"num_aux_hidden_states"}, kPutTogether, 1);
}

/// get_eagle3_default_aux_hidden_state_layers: of a model of few layers some are the same.
std::int64_t places_of(const Shape& shape) {
  const auto layers = static_cast<std::int64_t>(shape.layers.size());
  return static_cast<std::int64_t>(std::set{std::int64_t{2}, layers / 2, layers - 3}.size());
}

Draft head_of(const ModelSource& source, const Shape& shape, const Options& options) {
  const Config config = Config::parse(source.config, source.name);
  const std::string cls = config.architecture();
  const Architecture* layers = layers_of_head(cls);
  if (layers == nullptr) {
    throw BadInput(source.name + ": what a head of " + cls +
                   " takes is not predicted; one of llama's layers");
  }
  Draft draft{.by = options.drafts, .shape = shape_as(config, source.name, *layers)};
  if (draft.shape.vocab != shape.vocab) {
    config.json().fail("vocab_size", "is not that of the model that it drafts for, " +
                                         std::to_string(shape.vocab) + "; as many words");
  }
  // Embedding and head come apart from its layers, and there is no norm of EAGLE's behind them.
  draft.shape.first = draft.shape.last = false;
  if (draft.shape.rotations == shape.rotations) draft.shape.rotary_tables = 0;
  if (options.drafts == Drafts::Eagle3) {
    draft.put_together = put_together(config);
    draft.kept = std::min(draft.put_together, places_of(shape));
    draft.head = config.integer_or({"draft_vocab_size"}, draft.shape.vocab, 1);
    if (draft.head > draft.shape.vocab) {
      config.json().fail("draft_vocab_size", "is more than vocab_size; no more");
    }
    draft.shape.norms = 3;
  }
  return draft;
}

/// Layers behind the last one, each of the kind that it is of.
Draft predicting(const ModelConfig& model, const Shape& shape) {
  if (std::find(kPredicting.begin(), kPredicting.end(), shape.architecture) == kPredicting.end()) {
    throw BadInput("speculative-config: what predicts several tokens of " + shape.architecture +
                   " is not known here; eagle, eagle3, ngram or draft_model");
  }
  const Config config = Config::parse(model.source->config, model.name);
  const bool must_say = shape.architecture != "Qwen3NextForCausalLM";
  const std::int64_t count = must_say || config.json().has("num_nextn_predict_layers")
                                 ? config.integer({"num_nextn_predict_layers"}, 16)
                                 : 1;
  // Both that are put together with their norms, or what is embedded with its norm alone.
  Draft draft{.by = Drafts::Mtp, .shape = shape, .named = must_say ? 3 : 1};
  Layer layer = shape.layers.back();
  if (layer.keeps == Keeps::State) layer.keeps = Keeps::All;
  layer.experts = shape.mixture();
  draft.shape.layers.assign(static_cast<std::size_t>(count), layer);
  draft.shape.first = draft.shape.last = false;
  draft.shape.rotary_tables = 0;
  return draft;
}

Draft smaller_model(const ModelSource& source, const Shape& shape) {
  Draft draft{.by = Drafts::Model, .shape = shape_of(source)};
  if (draft.shape.rotations == shape.rotations) draft.shape.rotary_tables = 0;
  if (draft.shape.vocab != shape.vocab) {
    throw BadInput("speculative-config: " + source.name + " has " +
                   std::to_string(draft.shape.vocab) + " words and " + shape.name + " " +
                   std::to_string(shape.vocab) + ", which vLLM refuses; a model of as many");
  }
  return draft;
}

class DraftListing {
 public:
  DraftListing(const Draft& draft, const Shape& shape, const Options& options)
      : draft_(draft), of_(draft.shape), model_(shape), options_(options) {}

  std::vector<Weight> operator()() {
    switch (draft_.by) {
      case Drafts::None:
      case Drafts::Ngram:
        break;
      case Drafts::Eagle:
        eagle();
        break;
      case Drafts::Eagle3:
        eagle3();
        break;
      case Drafts::Mtp:
        predicting();
        break;
      case Drafts::Model:
        return weights_of(of_, options_);
    }
    return std::move(list_);
  }

 private:
  void whole(std::int64_t rows, std::int64_t columns = 1) {
    list_.push_back({.rows = rows, .columns = columns, .slices = {}});
  }
  void linear(std::int64_t rows, std::int64_t columns) {
    list_.push_back(
        {.kind = WeightKind::Linear, .rows = rows, .columns = columns, .slices = {rows}});
  }
  /// Made, and let go where the model's own is taken instead.
  void taken_over() {
    whole(vocabulary_of_rank(model_, options_.tensor_parallel), of_.hidden);
    list_.back().taken_over = true;
  }
  void layers() {
    std::vector<Weight> of = weights_of(of_, options_);
    std::move(of.begin(), of.end(), std::back_inserter(list_));
  }

  /// llama_eagle.py: the first layer has no norm before it; what is embedded and the state that the
  /// model ended with are put together.
  void eagle() {
    taken_over();
    layers();
    list_.erase(std::find_if(list_.begin() + 1, list_.end(), [&](const Weight& weight) {
      return weight.rows == of_.hidden && weight.columns == 1;
    }));
    linear(of_.hidden, 2 * of_.hidden);
  }

  /// llama_eagle3.py: what is embedded goes into the first layer beside states of several layers;
  /// a head of fewer words, and which of the model's they are.
  void eagle3() {
    taken_over();
    layers();
    list_[1].columns = 2 * of_.hidden;
    if (draft_.put_together > 0) {
      linear(of_.hidden, draft_.put_together * model_.hidden);
    }
    whole(of_.hidden);
    Shape head = of_;
    head.vocab = draft_.head;
    whole(vocabulary_of_rank(head, options_.tensor_parallel), of_.hidden);
    list_.push_back({.rows = 2 * draft_.head, .fp32 = true, .slices = {}});  // of 8 bytes
  }

  /// deepseek_mtp.py, glm4_moe_mtp.py, qwen3_next_mtp.py: norms of both that are put together, what
  /// does, a layer, its norm, and a head that is the model's.
  void predicting() {
    taken_over();
    layers();
    const bool head_each = model_.architecture != "Qwen3NextForCausalLM";
    const std::size_t count = head_each ? of_.layers.size() : 1;
    for (std::size_t i = 0; i < count; ++i) {
      for (int norm = 0; norm < 3; ++norm) whole(of_.hidden);
      if (head_each) {
        whole(of_.hidden, 2 * of_.hidden);
      } else {
        linear(of_.hidden, 2 * of_.hidden);
      }
      taken_over();
    }
  }

  const Draft& draft_;
  const Shape& of_;
  const Shape& model_;
  const Options& options_;
  std::vector<Weight> list_;
};

void refuse_beside(const Options& options) {
  const auto refuse = [](const char* flag) {
    throw BadInput(std::string(flag) +
                   ": what it does beside drafts of a model is not predicted; without it");
  };
  if (options.pipeline > 1) refuse("pipeline-parallel");
  if (options.offloaded > 0) refuse("cpu-offload-gb");
  if (options.adapters > 0) refuse("enable-lora");
}

}  // namespace

std::shared_ptr<const Draft> draft_of(const ModelConfig& model, const Shape& shape,
                                      const Options& options) {
  if (options.drafts == Drafts::None || options.drafts == Drafts::Ngram) return nullptr;
  refuse_beside(options);
  if (options.drafts == Drafts::Mtp) {
    return std::make_shared<const Draft>(predicting(model, shape));
  }
  const auto& source = model.source == nullptr ? nullptr : model.source->draft;
  if (source == nullptr || source->config.empty()) {
    throw BadInput("speculative-config: model: what drafts is read of a config.json; one's folder");
  }
  Draft draft = options.drafts == Drafts::Model ? smaller_model(*source, shape)
                                                : head_of(*source, shape, options);
  require_even_shares(draft.shape, options, " of " + source->name + ", which drafts,");
  return std::make_shared<const Draft>(std::move(draft));
}

void settle_drafted(Options& options, const Draft& draft) {
  const auto layers = static_cast<std::int64_t>(draft.shape.layers.size());
  if (options.drafted == 0) options.drafted = layers;
  if (options.drafted > layers && options.drafted % layers != 0) {
    throw BadInput("speculative-config: num_speculative_tokens: " +
                   std::to_string(options.drafted) + " are no multiple of the " +
                   std::to_string(layers) + " that the model's layers predict; one");
  }
}

std::vector<Weight> draft_weights(const Draft& draft, const Shape& shape, const Options& options) {
  return DraftListing(draft, shape, options)();
}

Options draft_options(const Draft& draft, const Options& options) {
  Options own = options;
  own.offloaded = 0;
  if (draft.by != Drafts::Mtp) own.quantization.clear();
  return own;
}

}  // namespace vramfit::vllm
