#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "model/config/model_config.h"

namespace vramfit::pytorch {

/// How a module is cut: names in plans of transformers, and those of what they stand for
/// (ParallelInterface of distributed/tensor_parallel.py, 5.17).
enum class TpStyle : std::uint8_t {
  Colwise,              ///< its rows; what it makes stays cut
  ColwiseGatherOutput,  ///< the same, and what it makes is gathered
  Rowwise,              ///< its columns, of input that is cut; what it makes is summed
  RowwiseSplitInput,    ///< the same, of input that is whole
  EmbeddingRowwise,     ///< its rows, of an embedding; what it makes is summed
  ReplicatedGradients,  ///< not at all, between two that are; its gradient is summed
};

/// A module by its path, in which * is a layer's number.
struct TpRule {
  std::string_view path;
  TpStyle style;
};

/// base_model_tp_plan of a family's config class. Empty: transformers has none.
std::span<const TpRule> tp_plan(const ModelConfig& config);

/// How a module is cut, if it is. `name`: a checkpoint's; `layer`: the block that it is in.
std::optional<TpStyle> tp_style(const ModelConfig& config, const std::string& name,
                                std::optional<std::int64_t> layer);

/// Throws BadInput where transformers cuts nothing of it over so many, or fails as it does.
void require_tp(const ModelConfig& config, std::int64_t gpus);

}  // namespace vramfit::pytorch
