#include "runtimes/vllm/rotations.h"

#include <algorithm>

namespace vramfit::vllm {
namespace {

constexpr std::int64_t kMostPositions = std::int64_t{1} << 24;
constexpr double kMostFactor = 1 << 10;

/// _get_and_verify_max_len: what was stretched is as long as it then is, but Gemma 3's config
/// already says so.
void lengthen(Shape& shape, const Config& config, std::int64_t from, double factor) {
  if (config.model_type().find("gemma3") != std::string::npos) return;
  shape.positions = std::clamp<std::int64_t>(
      static_cast<std::int64_t>(static_cast<double>(from) * factor), 1, kMostPositions);
}

/// get_rope raises of another; su and mrope are what patch_legacy_rope_type takes for longrope and
/// default.
std::string type_of(const JsonReader& scaling) {
  const char* key = scaling.has("rope_type") ? "rope_type" : "type";
  scaling.require_text(key, {"default", "linear", "dynamic", "yarn", "llama3", "longrope", "su",
                             "mrope", "mllama4", "ntk", "xdrope", "proportional", "deepseek_yarn",
                             "deepseek_llama_scaling", "openpangu", "telechat3-yarn"});
  return scaling.text_or(key, "");
}

}  // namespace

void add_rotations(Shape& shape, std::int64_t rows, std::int64_t dim, bool a_kind_each) {
  shape.rotary_rows = rows;
  shape.rotary_dim = dim;
  const auto slides = [](const Layer& layer) { return layer.keeps == Keeps::Window; };
  const bool both = std::any_of(shape.layers.begin(), shape.layers.end(), slides) &&
                    !std::all_of(shape.layers.begin(), shape.layers.end(), slides);
  shape.rotary_tables = a_kind_each && both ? 2 : 1;
  // Of what transformers' own code rotates by, frequencies alone are there.
  if (shape.rotates_apart) shape.rotary_tables = 0;
}

void take_scaling(Shape& shape, const Config& config) {
  const auto scaling = config.object("rope_scaling");
  if (!scaling) return;
  const std::string type = type_of(*scaling);
  if (type == "longrope" || type == "su") {
    // Requests are as long as before, unless more is asked for, and rotations are there for both.
    shape.usual_length = config.integer_or({"original_max_position_embeddings"}, 0);
    shape.rotary_rows += shape.usual_length;
    shape.rotates_elsewhere = true;
    return;
  }
  if (type.empty() || type == "default" || type == "mrope" || type == "llama3") return;
  const double factor = scaling->number_or("factor", 1, 1, kMostFactor);
  if (type == "yarn") {
    const std::int64_t before =
        scaling->integer_or("original_max_position_embeddings", shape.positions, 1, kMostPositions);
    if (shape.rotary_rows > 0) {
      shape.rotary_rows = static_cast<std::int64_t>(static_cast<double>(before) * factor);
    }
    lengthen(shape, config, before, factor);
    return;
  }
  // LinearScalingRotaryEmbedding: as many positions as there are between those it was made for.
  if (type == "linear") shape.rotary_stretch = static_cast<std::int64_t>(factor);
  lengthen(shape, config, shape.positions, factor);
}

std::string rotations_of(const Config& config) {
  std::string words;
  for (const char* key : {"max_position_embeddings", "rope_theta", "rope_scaling",
                          "rope_parameters", "partial_rotary_factor"}) {
    words += config.dump(key) + ' ';
  }
  return words;
}

}  // namespace vramfit::vllm
