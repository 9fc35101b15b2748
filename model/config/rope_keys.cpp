#include "model/config/rope_keys.h"

#include "model/config/limits.h"

namespace vramfit {
namespace {

/// The value of `rope_type`, and what it is here.
struct Kind {
  const char* name;
  Rope::Scaling scaling;
};

// "su" is what phi3's first files call longrope.
constexpr Kind kKinds[] = {{"default", Rope::Scaling::None},      {"linear", Rope::Scaling::Linear},
                           {"llama3", Rope::Scaling::Llama3},     {"yarn", Rope::Scaling::Yarn},
                           {"longrope", Rope::Scaling::Longrope}, {"su", Rope::Scaling::Longrope},
                           {"dynamic", Rope::Scaling::Dynamic}};

void read_llama3(const JsonReader& json, Rope& rope) {
  rope.low_freq_factor = json.number("low_freq_factor", 0, kMaxFactor);
  rope.high_freq_factor = json.number("high_freq_factor", 0, kMaxFactor);
  if (rope.high_freq_factor <= rope.low_freq_factor) {
    json.fail("high_freq_factor", "is not above low_freq_factor; a number above it");
  }
  rope.original_positions =
      static_cast<double>(json.integer("original_max_position_embeddings", 1, kMaxPositions));
}

void read_scaling(const JsonReader& json, Rope& rope) {
  for (const char* key : {"full_attention", "sliding_attention"}) {
    json.refuse(key, "rotations that differ by layer are not supported; one for all layers");
  }
  std::vector<const char*> names;
  for (const Kind& kind : kKinds) names.push_back(kind.name);
  const char* type_key = json.has("type") && !json.has("rope_type") ? "type" : "rope_type";
  json.require_text(type_key, names);
  if (!json.has(type_key) && json.has("factor")) {
    json.fail(type_key, "missing beside factor; one of default, linear, llama3, yarn, dynamic");
  }
  const std::string type = json.text_or(type_key, "default");
  for (const Kind& kind : kKinds) {
    if (type == kind.name) rope.scaling = kind.scaling;
  }
  // Longrope has a factor for each frequency, in lists.
  const bool one_factor =
      rope.scaling != Rope::Scaling::None && rope.scaling != Rope::Scaling::Longrope;
  if (one_factor) rope.factor = json.number("factor", 1, kMaxFactor);
  if (rope.scaling == Rope::Scaling::Llama3) read_llama3(json, rope);
}

/// Reads how much of a head is rotated, and refuses what cannot be.
void read_partial(const JsonReader& json, const char* key, const RopeKeys& keys,
                  std::int64_t head_dim, Rope& rope) {
  rope.partial = json.number_or(key, rope.partial, 0, 1);
  if (!keys.may_be_partial && rope.partial != 1.0) {
    json.fail(key, "partial rotation is not supported in this family; only 1.0");
  }
  const std::int64_t dims = rope.dims(head_dim);
  if (dims < 2 || dims % 2 != 0) {
    json.fail(key, "rotates " + std::to_string(dims) + " of " + std::to_string(head_dim) +
                       " dimensions of a head; a share that comes to an even number");
  }
}

}  // namespace

void read_rope_parameters(const JsonReader& parameters, Rope& rope) {
  rope.theta = parameters.number_or("rope_theta", rope.theta, 1, kMaxTheta);
  read_scaling(parameters, rope);
}

void read_rope(const JsonReader& json, ModelConfig& config, const RopeKeys& keys) {
  Rope rope;
  rope.theta = json.number_or(keys.theta, rope.theta, 1, kMaxTheta);
  rope.partial = keys.default_partial;
  read_partial(json, keys.partial, keys, config.head_dim, rope);
  if (json.has("rope_scaling") && json.has("rope_parameters")) {
    json.fail("rope_scaling", "given beside rope_parameters; one of the two");
  }
  // transformers 5 moved theta and scaling into rope_parameters.
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    if (const auto parameters = json.object(key)) {
      read_partial(*parameters, "partial_rotary_factor", keys, config.head_dim, rope);
      read_rope_parameters(*parameters, rope);
    }
  }
  config.rope = rope;
}

}  // namespace vramfit
