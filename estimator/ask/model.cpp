#include "estimator/ask/model.h"

#include "estimator/models.h"
#include "model/config/hugging_face.h"
#include "model/errors.h"
#include "model/quantity.h"
#include "model/transformer/assumed_llama.h"

namespace vramfit {
namespace {

using Text = std::optional<std::string>;

std::optional<std::int64_t> whole(const char* field, const Text& text) {
  return text ? std::optional(parse_whole(field, *text)) : std::nullopt;
}

ModelConfig model_called(const std::string& called, const Surroundings& surroundings) {
  if (const Text name = shipped_model(called)) return model_named(*name);
  if (surroundings.model) {
    if (std::optional<ModelConfig> model = surroundings.model(called)) return *std::move(model);
  }
  return model_named(called);
}

}  // namespace

ModelConfig model_of(const Options& o, const Surroundings& surroundings) {
  if (o.config_json) return parse_hugging_face(*o.config_json, o.model.value_or("config"));
  if (o.model) return model_called(*o.model, surroundings);
  if (o.config) {
    if (surroundings.config) return surroundings.config(*o.config);
    throw BadInput("config: '" + *o.config + "' is a path, and no files are read here; its JSON");
  }
  if (o.params) {
    return assumed_llama(parse_count("params", *o.params), whole("hidden", o.hidden),
                         whole("layers", o.layers));
  }
  throw BadInput("model: missing; --model NAME (fit --list), --config PATH or --params 7B");
}

}  // namespace vramfit
