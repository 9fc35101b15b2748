#include "runtimes/vllm/stored_as.h"

#include <string_view>

namespace vramfit::vllm {
namespace {

constexpr std::int64_t kScaleTile = 128;  ///< weight_block_size, the only one that is published

/// Of llm-compressor's groups one, of all linears; what it leaves out is whole anyway.
void add_compressed(Shape& shape, const JsonReader& stored) {
  const auto groups = stored.object("config_groups");
  const std::vector<std::string> names = groups ? groups->keys() : std::vector<std::string>();
  if (names.size() != 1) stored.fail("config_groups", "are several, or none; one of all linears");
  // Keys are read as C strings: one that holds a NUL is none of these.
  const auto group = groups->object(names.front().c_str());
  const auto weights = group ? group->object("weights") : std::nullopt;
  if (!weights) {
    stored.fail("config_groups", "leave weights whole; one that says how they are stored");
  }
  shape.bits = weights->integer_or("num_bits", 8, 1, 16);
  shape.floats = weights->text_or("type", "int") == "float";
  const std::string strategy = weights->text_or("strategy", "tensor");
  shape.group = strategy == "group" ? weights->integer("group_size", 1, 1 << 16) : 0;
  shape.row_scales = strategy == "channel";
  if (strategy == "block") shape.scale_tile = kScaleTile;
  shape.zero_points = !weights->boolean_or("symmetric", true);
  shape.byte_inputs = group->object("input_activations").has_value();
  shape.packed = stored.text_or("format", "") == "pack-quantized";
}

/// Names that begin with one of these are of what sees.
bool leaves_tower_whole(const JsonReader& stored) {
  for (const char* list : {"modules_to_not_convert", "ignore"}) {
    if (!stored.has(list)) continue;
    for (const std::string& name : stored.texts(list)) {
      if (name.find("visual") != std::string::npos || name.find("vision") != std::string::npos) {
        return true;
      }
    }
  }
  return false;
}

/// Whether modules of that name are among those that are left whole.
bool leaves_whole(const JsonReader& stored, std::string_view module) {
  for (const char* list : {"modules_to_not_convert", "ignore"}) {
    if (!stored.has(list)) continue;
    for (const std::string& name : stored.texts(list)) {
      const std::size_t at = name.find(module);
      if (at == std::string::npos) continue;
      const std::size_t end = at + module.size();
      // gate_proj is none of gate's.
      if (end == name.size() || name[end] == '$' || name[end] == '.') return true;
    }
  }
  return false;
}

}  // namespace

void add_quantization(Shape& shape, const Config& config) {
  const auto stored = config.object("quantization_config");
  if (!stored) return;
  shape.quantization = stored->text_or("quant_method", "");
  shape.bits = stored->integer_or("bits", 4, 1, 16);
  shape.group = stored->integer_or("group_size", 128, -1, 1 << 16);
  shape.zero_points = stored->boolean_or("zero_point", false);
  if (shape.quantization == "compressed-tensors") add_compressed(shape, *stored);
  if (stored->has("weight_block_size")) shape.scale_tile = kScaleTile;
  shape.tower_stored = !leaves_tower_whole(*stored);
  if (leaves_whole(*stored, "mlp.gate")) shape.experts.router_stored = false;
}

}  // namespace vramfit::vllm
