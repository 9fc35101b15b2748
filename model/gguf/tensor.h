#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "model/format.h"

namespace vramfit::gguf {

/// A tensor of a GGUF file, without its data. Its first dimension is the contiguous one, as ggml
/// counts them.
struct Tensor {
  std::string name;  ///< "blk.0.attn_q.weight"
  std::array<std::int64_t, 4> ne = {1, 1, 1, 1};
  Format type;

  std::int64_t elements() const { return ne[0] * ne[1] * ne[2] * ne[3]; }
  std::int64_t rows() const { return ne[1] * ne[2] * ne[3]; }
  /// ggml_n_dims: those behind the last that is more than 1 do not count.
  std::size_t dims() const {
    std::size_t dims = ne.size();
    while (dims > 1 && ne[dims - 1] == 1) --dims;
    return dims;
  }
  /// ggml_nbytes. Rows are whole blocks.
  std::uint64_t bytes() const { return type.bytes(ne[0]) * static_cast<std::uint64_t>(rows()); }
};

}  // namespace vramfit::gguf
