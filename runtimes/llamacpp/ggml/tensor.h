#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtimes/llamacpp/ggml/type.h"

namespace vramfit::llamacpp::ggml {

/// What makes a tensor of its sources: ggml_op, those that the graphs here are made of.
enum class Op : std::uint8_t {
  None,  ///< a weight, a cache, an input
  Add,
  AddId,
  Argsort,
  Clamp,
  Concat,
  Cont,
  Cpy,
  Div,
  Fill,
  FlashAttention,
  GatedDeltaNet,
  GetRows,
  Glu,
  Mul,
  MulMat,
  MulMatId,
  Norm,
  Pad,
  Permute,
  Repeat,
  Reshape,
  RmsNorm,
  Rope,
  Scale,
  SetRows,
  SoftMax,
  SsmConv,
  Sub,
  SumRows,
  Transpose,
  Unary,
  View,
};

/// Of Op::Unary, as far as anybody asks.
enum class Unary : std::int8_t { Other, Sigmoid };

/// A backend's place in the scheduler's list: GPUs in order, the CPU last. Where a tensor has a
/// buffer already, whose memory it is; the host's kinds of memory are one.
using BackendId = std::int8_t;
inline constexpr BackendId kNoBackend = -1;

inline constexpr std::size_t kMaxDims = 4;
inline constexpr std::size_t kMaxSources = 10;  // GGML_MAX_SRC

using Shape = std::array<std::int64_t, kMaxDims>;
using Strides = std::array<std::uint64_t, kMaxDims>;

/// ggml_tensor without its data: shape in elements (the first dimension is the contiguous one),
/// strides in bytes.
struct Tensor {
  Op op = Op::None;
  Type type;
  BackendId buffer = kNoBackend;  ///< allocated before the graph: weights and caches
  bool weight = false;            ///< in a buffer of weights
  bool input = false;
  bool output = false;
  bool precise = false;  ///< of Op::MulMat: summed in f32 (GGML_PREC_F32)
  Unary unary = Unary::Other;
  std::uint8_t source_count = 0;  ///< of `sources`, some of which may be absent
  Shape ne{1, 1, 1, 1};
  Strides nb{0, 0, 0, 0};
  std::array<Tensor*, kMaxSources> sources{};
  Tensor* view_of = nullptr;      ///< whose memory it is in; itself no view
  std::uint64_t view_offset = 0;  ///< bytes
  std::uint32_t id = 0;           ///< place among its question's tensors

  bool is_view() const { return view_of != nullptr; }
  std::int64_t elements() const { return ne[0] * ne[1] * ne[2] * ne[3]; }
  std::int64_t rows() const { return ne[1] * ne[2] * ne[3]; }
  void add_source(Tensor* source) { sources.at(source_count++) = source; }
  /// Those there are, absent ones among them.
  std::span<Tensor* const> used_sources() const { return {sources.data(), source_count}; }
};

/// ggml_nbytes: from the first byte to the last, gaps between rows included.
std::uint64_t bytes(const Tensor& tensor);

/// ggml_is_contiguous_m_n: whether elements follow each other from dimension `from` on.
bool contiguous(const Tensor& tensor, std::size_t from = 0);
/// ggml_is_contiguous_rows.
bool contiguous_rows(const Tensor& tensor);
bool same_shape(const Tensor& a, const Tensor& b);
/// ggml_are_same_layout.
bool same_layout(const Tensor& a, const Tensor& b);
/// An op that only looks at its source in another way: ggml_is_view_op.
constexpr bool is_view_op(Op op) {
  return op == Op::View || op == Op::Reshape || op == Op::Permute || op == Op::Transpose;
}

}  // namespace vramfit::llamacpp::ggml
