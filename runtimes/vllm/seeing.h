#pragma once

#include <cstdint>
#include <string_view>

namespace vramfit::vllm {

/// A class of models that see, whose text is of another class.
struct Seeing {
  std::string_view name;
  std::string_view text;
  std::int64_t rows = 1;  ///< of its table of rotations, a position (MRotaryEmbedding has four)
  std::string_view usual = "";  ///< what its text's config leaves out, as JSON; empty: nothing
};

/// Null: it is none that is known here.
const Seeing* seeing_named(std::string_view name);

}  // namespace vramfit::vllm
