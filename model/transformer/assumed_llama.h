#pragma once

#include <cstdint>
#include <optional>

#include "model/config/model_config.h"

namespace vramfit {

/// A llama-shaped model of about `parameters` parameters. Where `hidden` or `layers` is absent it
/// is chosen as llama's published sizes have it (heads of 128, ffn 8/3 of hidden, vocab 32,000);
/// the rest follows. Notes say that the shape is assumed. Throws BadInput where none comes within
/// 10 % of the count.
ModelConfig assumed_llama(double parameters, std::optional<std::int64_t> hidden,
                          std::optional<std::int64_t> layers);

}  // namespace vramfit
