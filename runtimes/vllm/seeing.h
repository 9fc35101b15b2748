#pragma once

#include <cstdint>
#include <string_view>

#include "runtimes/vllm/options.h"
#include "runtimes/vllm/shape.h"

namespace vramfit::vllm {

/// A class of models that see, whose text is of another class.
struct Seeing {
  std::string_view name;
  std::string_view text;
  std::int64_t rows = 1;      ///< of its table of rotations, a position (MRotaryEmbedding has four)
  bool videos = false;        ///< it sees these, too
  bool may_be_whole = false;  ///< --mm-encoder-tp-mode data (supports_encoder_tp_data)
  std::string_view usual = {};  ///< what its text's config leaves out, as JSON; empty: nothing
};

/// Null: it is none that is known here.
const Seeing* seeing_named(std::string_view name);

/// Whether what sees is there: not where no request may show anything.
bool has_tower(const Shape& shape, const Options& options);
/// Whether ranks share it out.
bool shares_tower(const Shape& shape, const Options& options);

}  // namespace vramfit::vllm
