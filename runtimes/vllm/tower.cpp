#include "runtimes/vllm/tower.h"

#include <string>

#include "model/config/limits.h"
#include "runtimes/vllm/limits.h"

namespace vramfit::vllm {
namespace {

constexpr std::int64_t kMostOfAPatch = 1 << 10;

class Tower {
 public:
  Tower(const Config& config, const JsonReader& vision)
      : text_(config.integer({"hidden_size"}, kMostHidden)),
        vision_(vision),
        hidden_(of("hidden_size", 1152, kMostHidden)),
        ffn_(of("intermediate_size", 4304, kMostWidth)),
        deep_(config.size_of("vision_config", "deepstack_visual_indexes")) {
    if (deep_ > static_cast<std::size_t>(of("depth", 27, kMaxLayers))) {
      vision_.fail("deepstack_visual_indexes", "are more than its layers; no more than these");
    }
  }

  /// qwen2_5_vl.py: norms without a bias, a gated MLP with one.
  std::vector<Tile> qwen2_5() {
    const std::int64_t patch = of("patch_size", 14, kMostOfAPatch);
    whole(hidden_, channels() * of("temporal_patch_size", 2, kMostOfAPatch) * patch * patch);
    rotations();
    for (std::int64_t i = 0; i < of("depth", 32, kMaxLayers); ++i) {
      whole(hidden_);
      whole(hidden_);
      attention();
      split(2 * ffn_, hidden_, ffn_);
      split(hidden_, ffn_, ffn_);
    }
    whole(hidden_);
    merger(merged());
    return std::move(tiles_);
  }

  /// qwen2_vl.py: its MLP is so many times as wide as its states; what the text takes is its
  /// hidden_size.
  std::vector<Tile> qwen2() {
    const std::int64_t patch = of("patch_size", 14, kMostOfAPatch);
    const std::int64_t text = of("hidden_size", text_, kMostHidden);
    hidden_ = of("embed_dim", 1280, kMostHidden);
    ffn_ = static_cast<std::int64_t>(vision_.number_or("mlp_ratio", 4, 1, 64) *
                                     static_cast<double>(hidden_));
    whole(hidden_, channels() * of("temporal_patch_size", 2, kMostOfAPatch) * patch * patch);
    rotations();
    layers(of("depth", 32, kMaxLayers));
    norm(hidden_);
    split(merged(), merged(), merged());
    split(text, merged(), merged());
    return std::move(tiles_);
  }

  /// qwen3_vl.py: positions are looked up, and what several layers see is merged, too.
  std::vector<Tile> qwen3() {
    const std::int64_t patch = of("patch_size", 16, kMostOfAPatch);
    whole(hidden_, channels() * of("temporal_patch_size", 2, kMostOfAPatch) * patch * patch);
    whole(hidden_);
    whole(of("num_position_embeddings", 2304, kMostWidth), hidden_);
    rotations();
    layers(of("depth", 27, kMaxLayers));
    norm(hidden_);
    merger(merged());
    for (std::size_t i = 0; i < deep_; ++i) {
      norm(merged());
      merger(merged());
    }
    return std::move(tiles_);
  }

  /// siglip.py, and gemma3_mm.py's projector.
  std::vector<Tile> siglip() {
    const std::int64_t patch = of("patch_size", 16, kMostOfAPatch);
    const std::int64_t along = of("image_size", 224, 1 << 14) / patch;
    whole(hidden_, channels() * patch * patch);
    whole(hidden_);
    whole(along * along, hidden_);
    layers(of("num_hidden_layers", 12, kMaxLayers));
    norm(hidden_);
    whole(hidden_, text_);
    whole(hidden_);
    return std::move(tiles_);
  }

  /// pixtral.py's of transformers' kind, and mistral3.py's projector: no biases; what rotates is as
  /// wide as a head for each of as many patches a side as an image has.
  std::vector<Tile> pixtral(std::int64_t merged_side) {
    const std::int64_t patch = of("patch_size", 16, kMostOfAPatch);
    whole(hidden_, of("num_channels", 3, 64) * patch * patch);
    whole(hidden_);
    for (std::int64_t i = 0; i < of("num_hidden_layers", 24, kMaxLayers); ++i) {
      whole(hidden_);
      tiles_.push_back({3 * hidden_, hidden_, heads()});
      tiles_.push_back({hidden_, hidden_, heads()});
      tiles_.push_back({2 * ffn_, hidden_, ffn_});
      tiles_.push_back({hidden_, ffn_, ffn_});
      whole(hidden_);
    }
    const std::int64_t along = of("image_size", 1024, 1 << 14) / patch;
    in_fp32(along * along, hidden_ / heads());
    whole(hidden_);
    whole(hidden_, hidden_ * merged_side * merged_side);
    tiles_.push_back({text_, hidden_, text_});
    tiles_.push_back({text_, text_, text_});
    return std::move(tiles_);
  }

  /// mllama4.py
  std::vector<Tile> llama4() {
    const std::int64_t patch = of("patch_size", 14, kMostOfAPatch);
    const std::int64_t along = of("image_size", 336, 1 << 14) / patch;
    const std::int64_t inner = of("projector_input_dim", 4096, kMostWidth);
    const std::int64_t out = of("projector_output_dim", 4096, kMostWidth);
    tiles_.push_back({hidden_, of("num_channels", 3, 64) * patch * patch, hidden_});
    whole(hidden_);
    whole(along * along + 1, hidden_);
    norm(hidden_);
    norm(hidden_);
    in_fp32(along * along + 1, hidden_ / heads());
    layers(of("num_hidden_layers", 34, kMaxLayers));
    tiles_.push_back({inner, ffn_, inner});
    tiles_.push_back({out, inner, inner});
    tiles_.push_back({text_, of("vision_output_dim", 4096, kMostWidth), text_});
    return std::move(tiles_);
  }

 private:
  std::int64_t of(const char* key, std::int64_t usual, std::int64_t most) const {
    return vision_.integer_or(key, usual, 1, most);
  }
  std::int64_t channels() const { return of("in_channels", of("in_chans", 3, 64), 64); }
  std::int64_t heads() const {
    return of("num_heads", of("num_attention_heads", 16, kMostHidden), kMostHidden);
  }
  std::int64_t merged() const {
    const std::int64_t side = of("spatial_merge_size", 2, 64);
    const std::int64_t width = hidden_ * side * side;
    if (width <= kMostWidth) return width;
    vision_.fail("spatial_merge_size", "puts together more than " + std::to_string(kMostWidth) +
                                           " channels of neighbours; less");
  }
  void whole(std::int64_t rows, std::int64_t columns = 1) { tiles_.push_back({rows, columns}); }
  /// As elements of the model's type, which is of 16 bits.
  void in_fp32(std::int64_t rows, std::int64_t columns) { whole(rows, 2 * columns); }
  void norm(std::int64_t width) {
    whole(width);
    whole(width);
  }
  void split(std::int64_t rows, std::int64_t columns, std::int64_t shares) {
    tiles_.push_back({rows, columns, shares});
    whole(rows);
  }
  void attention() {
    split(3 * hidden_, hidden_, heads());
    split(hidden_, hidden_, heads());
  }
  void layers(std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      norm(hidden_);
      norm(hidden_);
      attention();
      split(ffn_, hidden_, ffn_);
      split(hidden_, ffn_, ffn_);
    }
  }
  /// Of so many neighbours' channels one token's.
  void merger(std::int64_t width) {
    split(width, width, width);
    split(of("out_hidden_size", text_, kMostHidden), width, width);
  }
  /// Of half a head's width, for images of so many patches a side.
  void rotations() {
    constexpr std::int64_t kSide = 8192;
    whole(kSide, hidden_ / heads() / 2);
  }

  std::int64_t text_;
  const JsonReader& vision_;
  std::int64_t hidden_;
  std::int64_t ffn_;
  std::size_t deep_;  ///< layers whose states are merged besides
  std::vector<Tile> tiles_;
};

/// Layers whose states are merged besides, before the last one.
std::int64_t deep_before(const Config& config, std::int64_t last) {
  std::int64_t count = 0;
  for (const std::int64_t layer : config.integers_of("vision_config", "deepstack_visual_indexes")) {
    if (layer < last) ++count;
  }
  return count;
}

/// qwen3_vl.py, of Qwen3-VL's preprocessor: 16,777,216 pixels.
Shown shown_to_qwen3(const Config& config, const JsonReader& vision) {
  constexpr std::int64_t kMostPixels = std::int64_t{1} << 24;
  const std::int64_t patch = vision.integer_or("patch_size", 16, 1, kMostOfAPatch);
  const std::int64_t side = vision.integer_or("spatial_merge_size", 2, 1, 64);
  const std::int64_t hidden = vision.integer_or("hidden_size", 1152, 1, kMostHidden);
  const std::int64_t heads = vision.integer_or("num_heads", 16, 1, kMostHidden);
  const std::int64_t out = vision.integer_or("out_hidden_size", 3584, 1, kMostHidden);
  const std::int64_t depth = vision.integer_or("depth", 27, 1, kMaxLayers);
  const auto deep =
      static_cast<std::int64_t>(config.size_of("vision_config", "deepstack_visual_indexes"));
  const std::int64_t tokens = kMostPixels / (patch * side * patch * side);
  // Three of queries, keys and values, two of these put in order and two that are rotated, places,
  // what went in and its norm, what comes out of attention and of its product; and cosines and
  // sines.
  constexpr std::int64_t kStates = 3 + 2 + 2 + 1 + 2 + 2;
  return {
      .tokens = tokens,
      .patches = tokens * side * side,
      .given = 3 * vision.integer_or("temporal_patch_size", 2, 1, kMostOfAPatch) * patch * patch,
      .alive = kStates * hidden + hidden / heads,
      .merged = deep_before(config, depth - 1) * out,
      .made = (1 + deep) * out};
}

/// mllama4.py, of Llama 4's preprocessor: an image is of 16 tiles and one of all of it.
Shown shown_to_llama4(const Config& config, const JsonReader& vision) {
  constexpr std::int64_t kTiles = 17;
  const std::int64_t patch = vision.integer_or("patch_size", 14, 1, kMostOfAPatch);
  const std::int64_t size = vision.integer_or("image_size", 336, 1, 1 << 14);
  const std::int64_t hidden = vision.integer_or("hidden_size", 1408, 1, kMostHidden);
  const std::int64_t ffn = vision.integer_or("intermediate_size", 5632, 1, kMostWidth);
  const std::int64_t patches = size / patch * (size / patch);
  constexpr std::int64_t kShuffled = 4;  // pixel_shuffle_ratio is a half
  return {.tokens = kTiles * patches / kShuffled,
          .patches = kTiles,
          .given = 3 * size * size,
          .alive = (patches + 1) * (3 * hidden + 2 * ffn),
          .merged = 0,
          .made = config.integer({"hidden_size"}, kMostHidden)};
}

}  // namespace

Shown shown_to(const Config& config, std::string_view architecture) {
  const auto vision = config.object("vision_config");
  if (!vision) return {};
  if (architecture.substr(0, 7) == "Qwen3VL" || architecture.substr(0, 7) == "Qwen3_5") {
    return shown_to_qwen3(config, *vision);
  }
  if (architecture == "Llama4ForConditionalGeneration") return shown_to_llama4(config, *vision);
  return {};
}

std::vector<Tile> tower_of(const Config& config, std::string_view architecture) {
  const auto vision = config.object("vision_config");
  if (!vision) return {};
  Tower tower(config, *vision);
  if (architecture == "Qwen2VLForConditionalGeneration") return tower.qwen2();
  if (architecture == "Qwen3VLMoeForConditionalGeneration" ||
      architecture.substr(0, 7) == "Qwen3_5") {
    return tower.qwen3();
  }
  if (architecture == "Llama4ForConditionalGeneration") return tower.llama4();
  if (architecture == "Mistral3ForConditionalGeneration") {
    return tower.pixtral(config.integer_or({"spatial_merge_size"}, 2, 1));
  }
  if (architecture == "Qwen2_5_VLForConditionalGeneration") return tower.qwen2_5();
  if (architecture == "Qwen3VLForConditionalGeneration") return tower.qwen3();
  if (architecture == "Gemma3ForConditionalGeneration") return tower.siglip();
  return {};
}

}  // namespace vramfit::vllm
