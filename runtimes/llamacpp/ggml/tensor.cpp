#include "runtimes/llamacpp/ggml/tensor.h"

#include <string>
#include <string_view>

#include "model/errors.h"

namespace vramfit::llamacpp::ggml {

Type type_of(Format format) {
  struct Known {
    std::string_view name;
    Kind kind;
  };
  // Those that some kernel treats unlike others; the others are quantised.
  static constexpr Known kKnown[] = {
      {"fp32", Kind::F32},    {"fp16", Kind::F16}, {"bf16", Kind::BF16},    {"int32", Kind::I32},
      {"i64", Kind::I64},     {"q4_0", Kind::Q40}, {"q4_1", Kind::Q41},     {"q5_0", Kind::Q50},
      {"q5_1", Kind::Q51},    {"q8_0", Kind::Q80}, {"iq4_nl", Kind::IQ4NL}, {"mxfp4", Kind::MXFP4},
      {"nvfp4", Kind::NVFP4}, {"tq1_0", Kind::TQ}, {"tq2_0", Kind::TQ},
  };
  const FormatRow& row = format.row();
  Type type{Kind::Quantised, static_cast<std::uint16_t>(row.block),
            static_cast<std::uint16_t>(row.bytes(row.block))};
  for (const Known& known : kKnown) {
    if (known.name == row.name) type.kind = known.kind;
  }
  if (type.quantised() && type.block == 1) {
    throw BadInput(std::string(row.name) + " is no type of tensors that llama.cpp computes with");
  }
  return type;
}

std::uint64_t bytes(const Tensor& tensor) {
  for (const std::int64_t n : tensor.ne) {
    if (n <= 0) return 0;
  }
  std::uint64_t bytes =
      tensor.type.block == 1
          ? tensor.type.bytes + static_cast<std::uint64_t>(tensor.ne[0] - 1) * tensor.nb[0]
          : static_cast<std::uint64_t>(tensor.ne[0]) * tensor.nb[0] / tensor.type.block;
  for (std::size_t i = 1; i < kMaxDims; ++i) {
    bytes += static_cast<std::uint64_t>(tensor.ne[i] - 1) * tensor.nb[i];
  }
  return bytes;
}

bool contiguous(const Tensor& tensor, std::size_t from) {
  std::uint64_t next = tensor.type.bytes;
  if (tensor.ne[0] != tensor.type.block && tensor.nb[0] != next) return false;
  next *= static_cast<std::uint64_t>(tensor.ne[0] / tensor.type.block);
  for (std::size_t i = 1; i < kMaxDims; ++i) {
    const auto n = static_cast<std::uint64_t>(tensor.ne[i]);
    if (i > from) {
      if (n != 1 && tensor.nb[i] != next) return false;
      next *= n;
    } else {
      next = tensor.nb[i] * n;  // a gap behind rows of this dimension is allowed
    }
  }
  return true;
}

bool contiguous_rows(const Tensor& tensor) {
  return tensor.ne[0] == tensor.type.block || tensor.nb[0] == tensor.type.bytes;
}

bool same_shape(const Tensor& a, const Tensor& b) { return a.ne == b.ne; }

bool same_layout(const Tensor& a, const Tensor& b) {
  return a.type == b.type && a.ne == b.ne && a.nb == b.nb;
}

}  // namespace vramfit::llamacpp::ggml
