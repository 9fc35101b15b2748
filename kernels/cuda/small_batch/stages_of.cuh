#pragma once

#include "kernels/cuda/small_batch/four_bit_stages.cuh"
#include "model/ops/linear_ops.h"

namespace vramfit::gpu {

/// Nothing reads stages of such a format.
struct NoStages {};

/// The reader of a weight's stages, by the place of its format in the table. `Codes`: what rows are
/// quantised to; void: they are not.
template <typename T, std::size_t kRow, typename Codes>
auto stages_of(const Tensor& weight) {
  constexpr FormatRow kFormat = kFormats[kRow];
  const auto read_by = [&](auto stages) {
    stages.codes = weight.as<const std::uint8_t>();
    return stages;
  };
  const auto read_by_blocks = [&](auto stages) {
    const BlockLayout layout(weight.format(), weight.stored().elements());
    stages = read_by(stages);
    stages.blocks = static_cast<int>(weight.stored()[1] / kFormat.block);
    stages.scales = reinterpret_cast<decltype(stages.scales)>(stages.codes + layout.scales);
    if constexpr (kFormats[kRow].zero_bits > 0) stages.zeros = stages.codes + layout.zeros;
    return stages;
  };
  if constexpr (kFormat.scales == Scales::None) {
    return read_by(PlainStages<T>{});
  } else if constexpr (sizeof(T) != 2) {
    return NoStages{};
  } else if constexpr (kFormat.scales == Scales::Row) {
    using Element = typename GpuCode<kFormat.element>::Type;
    if constexpr (std::is_same_v<Codes, std::int8_t>) {
      return read_by(Int8Stages{});
    } else if constexpr (std::is_same_v<Codes, __nv_fp8_e4m3>) {
      return read_by(Fp8Stages{});
    } else if constexpr (std::is_same_v<Element, std::int8_t>) {
      return read_by(EightBitStages<T, Element>{});
    } else {
      return NoStages{};
    }
  } else if constexpr (kFormat.codec == Codec::Codebook && kFormat.block == 64) {
    return read_by_blocks(CodebookStages<T, kRow>{});
  } else if constexpr (kFormat.codec == Codec::Offset && kFormat.block == 128) {
    return read_by_blocks(OffsetStages<T>{});
  } else {
    return NoStages{};
  }
}

/// Calls `body` with a reader of the weight's stages, and a null pointer of the type that rows are
/// quantised to.
template <typename T, typename Body>
void with_stages(const Tensor& weight, const QuantizedOperands& quantized, const Body& body) {
  const bool of_codes = quantized.quantizes_x || quantized.x_scales != nullptr;
  with_row(weight.format(), [&](auto row) {
    constexpr std::size_t kRow = decltype(row)::value;
    if constexpr (kFormats[kRow].scales == Scales::Row) {
      using Code = typename GpuCode<kFormats[kRow].element>::Type;
      if (of_codes) return body(stages_of<T, kRow, Code>(weight), static_cast<Code*>(nullptr));
    }
    body(stages_of<T, kRow, void>(weight), static_cast<void*>(nullptr));
  });
}

}  // namespace vramfit::gpu
