#include "runtimes/pytorch/transformers/taped/taped_lm.h"

#include <algorithm>
#include <unordered_map>

#include "model/errors.h"
#include "runtimes/pytorch/trl/fused_lm_head.h"

namespace vramfit::pytorch {
namespace {

const Program& program_named(const OpTape& tape, const std::string& name) {
  if (const Program* const found = tape.program(name)) return *found;
  throw BadInput("model: " + name + " of " + tape.model_type +
                 " was not recorded; vramfit model runs it");
}

}  // namespace

TapedLm::TapedLm(Context& context, const OpTape& tape, const ModelConfig& config,
                 const ModelSettings& settings)
    : CausalLm(context, config, settings), tape_(tape), keys_(*config.source, tape) {
  if (settings.checkpoint != GradientCheckpointing::None && !tape.checkpoints) {
    throw BadInput("checkpoint: transformers has none for " + tape.model_type + ", and raises");
  }
  const bool reenters = settings.attention == AttentionKind::Eager
                            ? tape.reenters && tape.reenters_eagerly
                            : tape.reenters;
  if (settings.checkpoint == GradientCheckpointing::Reentrant && !reenters) {
    throw BadInput("checkpoint: of " + tape.model_type +
                   " reentrant is not predicted yet: its layers take or give more than hidden "
                   "states; full, or vramfit model runs it");
  }
  if (settings.type == ScalarType::Half && !tape.has_fp16) {
    throw BadInput("precision: in fp16 " + tape.model_type +
                   "'s code does other things, which were not recorded; vramfit model runs it");
  }
  build();
}

std::string TapedLm::module_of(const std::string& path) {
  for (const std::string_view suffix : {".weight", ".bias"}) {
    if (path.ends_with(suffix)) return path.substr(0, path.size() - suffix.size());
  }
  return path;
}

const std::string& TapedLm::kind_of(std::int64_t layer) const {
  return config_.taped->layer_kinds.at(static_cast<std::size_t>(layer));
}

std::string TapedLm::prefix_of(std::int64_t layer) const {
  return tape_.layers_path + "." + std::to_string(layer);
}

void TapedLm::build() {
  const Program& program = program_named(tape_, config_.tied_head ? "init tied" : "init");
  Registers own(program.main.of_program);
  Registers none;
  const Symbols sizes = [this](const std::string& name) { return keys_(name); };
  const auto parts = static_cast<std::size_t>(config_.layers) + 1;
  OfPlaces<Tensor> made(parts, std::vector<Tensor>(tape_.places.size()));
  places_.assign(parts, std::vector<Place>(tape_.places.size()));
  Frame frame{own, none, none, kNoLayer, sizes, &made};
  {
    const Setting shapes_alone(context_.elsewhere, context_.elsewhere || context_.meta);
    run(program, program.main.steps, frame);
  }
  const auto made_at = [&](std::size_t part, std::uint32_t place) -> const Tensor& {
    const Tensor& tensor = made[part][place];
    if (!tensor.defined()) throw BadInput("tape: a parameter that init makes none of");
    return tensor;
  };
  std::unordered_map<std::string, Module*> by_path;
  const auto take = [&](const std::vector<NamedTensor>& all, int index) {
    const bool of_layer = index != kNoLayer;
    const auto part = static_cast<std::size_t>(index + 1);
    const LayerScope acts(context_, index);
    for (const NamedTensor& named : all) {
      Place& place = places_[part][named.place];
      if (named.is_buffer) {
        place.tensor = &buffers_.emplace_back(made_at(part, named.place));
        continue;
      }
      const bool tied = config_.tied_head && !named.tied_to.empty();
      const std::string path = module_of(of_layer ? prefix_of(index) + named.path : named.path);
      Module*& module = by_path[path];
      if (module == nullptr) {
        const auto layer = of_layer ? std::optional<std::int64_t>(index) : std::nullopt;
        module = &modules_.emplace_back(Module{path, layer, Norm()});
        if (tape_.multiplies_by(named.path)) module->module = Linear();
        if (tape_.looks_up_in(named.path)) module->module = Embedding();
      }
      std::visit(
          [&](auto& own_module) {
            place.tensor = &own_module.weight;
            if constexpr (requires { own_module.bias; }) {
              if (named.path.ends_with(".bias")) place.tensor = &own_module.bias;
            }
            *place.tensor =
                tied ? made_at(0, tape_.places.at(named.tied_to)) : made_at(part, named.place);
          },
          module->module);
      place.linear = std::get_if<Linear>(&module->module);
    }
  };
  take(tape_.before, kNoLayer);
  for (int i = 0; i < static_cast<int>(config_.layers); ++i) {
    const auto of_kind = tape_.of_layer.find(kind_of(i));
    if (of_kind == tape_.of_layer.end()) {
      throw BadInput("tape: no parameters of layer '" + kind_of(i) + "'");
    }
    take(of_kind->second, i);
  }
  take(tape_.behind, kNoLayer);
}

std::vector<CausalLm::NamedModule> TapedLm::named_modules() {
  std::vector<NamedModule> all;
  for (Module& module : modules_) {
    NamedModule named{module.path, {}, module.layer};
    std::visit([&](auto& own) { named.module = &own; }, module.module);
    all.push_back(std::move(named));
  }
  return all;
}

std::vector<Tensor*> TapedLm::buffers() {
  std::vector<Tensor*> all;
  for (Tensor& buffer : buffers_) all.push_back(&buffer);
  return all;
}

void TapedLm::tie_weights() {
  if (!config_.tied_head) return;
  const std::vector<Place>& beside = places_.front();
  for (const std::vector<NamedTensor>* part : {&tape_.before, &tape_.behind}) {
    for (const NamedTensor& named : *part) {
      if (named.tied_to.empty()) continue;
      *beside[named.place].tensor = *beside[tape_.places.at(named.tied_to)].tensor;
    }
  }
}

ScalarType TapedLm::type() const {
  for (const Module& each : modules_) {
    if (const auto* embedding = std::get_if<Embedding>(&each.module)) {
      return embedding->weight.type();
    }
  }
  return settings_.type;
}

bool TapedLm::is_quantized() const {
  return std::any_of(modules_.begin(), modules_.end(), [](const Module& each) {
    const auto* linear = std::get_if<Linear>(&each.module);
    return linear != nullptr && linear->quantized != nullptr;
  });
}

bool TapedLm::is_beyond_window(std::int64_t keys) const {
  if (keys_.has("use_sliding_window") && keys_("use_sliding_window") == 0) return false;
  for (const char* key : {"sliding_window", "attention_chunk_size"}) {
    const std::int64_t window = keys_.has(key) ? keys_(key) : 0;
    if (window == 0 || keys < window) continue;
    const auto& known = tape_.windows;
    if (std::find(known.begin(), known.end(), key) != known.end()) return true;
    throw BadInput(std::string(key) + ": " + tape_.model_type + " was recorded without one, and " +
                   std::to_string(keys) + " tokens are beyond it; vramfit model runs it");
  }
  return false;
}

// A program that a tape leaves out is as its task's plain one.
const Program& TapedLm::program_of(const std::string& task, std::int64_t keys, bool padded) const {
  const bool eager = settings_.attention == AttentionKind::Eager && tape_.attention != "eager";
  const bool cast = context_.autocast.enabled();
  const bool fp32 = type() == ScalarType::Float;
  const auto named = [&](bool with_fp32) {
    std::string name = task;
    if (eager) name += " eager";
    if (with_fp32) name += " fp32";
    if (cast) name += " autocast";
    if (padded) name += " padded";
    if (is_beyond_window(keys)) name += " beyond";
    return tape_.program(name);
  };
  // bitsandbytes' products give back what they are given: fp32, whose casts later copy nothing.
  if (cast && fp32 && tape_.program(task + " fp32") != nullptr && is_quantized()) {
    throw BadInput("autocast: of quantised " + tape_.model_type +
                   " is not predicted yet: its code goes over parts of what products give; "
                   "vramfit model runs it");
  }
  // What Python does hangs on the weights' type where autocast computes in another; else of few
  // types, which have a program of it.
  const Program* own = named(fp32);
  if (own == nullptr && !cast) own = named(false);
  return own != nullptr ? *own : program_named(tape_, task);
}

Tensor TapedLm::returned(const Program& program, std::size_t i, const Frame& frame) const {
  const Instruction& last = program.main.steps.back();
  if (last.kind != Instruction::Kind::Return || i >= last.args.size()) {
    throw BadInput("tape: a program returns less than is asked of it");
  }
  return std::move(made_at(last.args[i].tensor, frame));
}

CausalLm::Output TapedLm::forward(const Tensor& ids, bool) const {
  const Program& program = program_of("train", ids.size(1), false);
  Registers own(program.main.of_program);
  Registers none;
  const Symbols sizes = [this, batch = ids.size(0), seq = ids.size(1)](const std::string& name) {
    return name == "B" ? batch : name == "S" ? seq : keys_(name);
  };
  Frame frame{own, none, none, kNoLayer, sizes, nullptr};
  at({Register::Scope::Program, 0}, frame) = ids;
  Output output;
  if (settings_.fused_head) {
    const auto& steps = program.main.steps;
    const auto head = std::find_if(steps.begin(), steps.end(),
                                   [](const Instruction& each) { return each.is_linear; });
    if (head == steps.end() || head->args.size() > 2) {
      throw BadInput("fused-lm-head: is not predicted of " + tape_.model_type +
                     "'s head; vramfit run");
    }
    run(program, std::span(steps).first(static_cast<std::size_t>(head - steps.begin())), frame);
    const aten::Value weight = value_of(head->args[1], frame);
    output.loss = fused_lm_loss(made_at(head->args[0].tensor, frame), *weight.as<Tensor>(), ids);
    return output;
  }
  run(program, program.main.steps, frame);
  own.front().reset();
  output.loss = returned(program, 0, frame);
  output.logits = returned(program, 1, frame);
  for (Tensor& left : own) {
    if (left.defined()) output.rest.push_back(std::move(left));
  }
  return output;
}

// The one for padding is always named.
CausalLm::SpecialTokens TapedLm::special_tokens() const {
  SpecialTokens tokens{1, keys_.names("eos_token_id"), keys_.is("eos_token_id", kPadding)};
  for (const char* key : {"bos_token_id", "eos_token_id", "decoder_start_token_id"}) {
    if (keys_.names(key)) ++tokens.count;
  }
  return tokens;
}

bool TapedLm::takes_position_ids() const {
  const std::vector<Instruction>& prefill = program_named(tape_, "prefill").main.steps;
  return std::any_of(prefill.begin(), prefill.end(), [](const Instruction& each) {
    return each.kind == Instruction::Kind::Input && each.name == "position_ids";
  });
}

// A static one is refused before (options.cpp).
std::unique_ptr<GenerationCache> TapedLm::make_cache(bool, std::int64_t) const {
  auto cache = std::make_unique<Cache>();
  cache->layers.assign(static_cast<std::size_t>(config_.layers),
                       std::vector<Tensor>(tape_.states.size()));
  return cache;
}

Tensor TapedLm::forward(const Tensor& ids, const StepInputs& step) const {
  auto& cache = static_cast<Cache&>(*step.cache);
  const std::int64_t past = cache.tokens();
  const std::int64_t added = ids.size(1);
  const Program& program = program_of(past == 0 ? "prefill" : "decode", past + added, step.padded);
  Registers own(program.main.of_program);
  Registers none;
  const Symbols sizes = [this, &ids, past](const std::string& name) {
    return name == "B" ? ids.size(0) : name == "S" ? ids.size(1) : name == "P" ? past : keys_(name);
  };
  Frame frame{own, none, none, kNoLayer, sizes, nullptr, &step, nullptr};
  at({Register::Scope::Program, 0}, frame) = ids;
  run(program, program.main.steps, frame);
  cache.advance(added);
  return returned(program, 0, frame);
}

}  // namespace vramfit::pytorch
