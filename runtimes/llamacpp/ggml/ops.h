#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtimes/llamacpp/ggml/tensor.h"

namespace vramfit::llamacpp::ggml {

/// Makes tensors, and keeps them until it is cleared. Each op is the function of ggml.c of that
/// name: what shape comes out, and whether it is memory of its own or a view.
class Ops {
 public:
  /// Its tensors are numbered from `first_id` on.
  explicit Ops(std::uint32_t first_id = 0) : first_id_(first_id), next_id_(first_id) {}

  /// Forgets all tensors; their memory is used again.
  void clear();
  /// One beyond the highest id.
  std::uint32_t end_id() const { return next_id_; }

  Tensor* tensor(Type type, Shape ne);
  /// A tensor that somebody fills before the graph runs: ggml_set_input.
  Tensor* input(Type type, Shape ne);
  /// In a buffer already.
  Tensor* allocated(Type type, Shape ne, BackendId buffer);
  /// The same layout in new memory: ggml_dup_tensor_layout.
  Tensor* copy_layout(const Tensor& of);

  Tensor* add(Tensor* a, Tensor* b) { return same_shape_as(Op::Add, a, b); }
  Tensor* sub(Tensor* a, Tensor* b) { return same_shape_as(Op::Sub, a, b); }
  Tensor* mul(Tensor* a, Tensor* b) { return same_shape_as(Op::Mul, a, b); }
  Tensor* div(Tensor* a, Tensor* b) { return same_shape_as(Op::Div, a, b); }
  Tensor* add_id(Tensor* a, Tensor* b, Tensor* ids);
  Tensor* norm(Tensor* a) { return same_shape_as(Op::Norm, a); }
  Tensor* rms_norm(Tensor* a) { return same_shape_as(Op::RmsNorm, a); }
  Tensor* scale(Tensor* a) { return same_shape_as(Op::Scale, a); }
  Tensor* scale_inplace(Tensor* a);
  Tensor* clamp(Tensor* a) { return same_shape_as(Op::Clamp, a); }
  Tensor* fill(Tensor* a) { return same_shape_as(Op::Fill, a); }
  Tensor* unary(Tensor* a) { return same_shape_as(Op::Unary, a); }  ///< silu, gelu, tanh, …
  Tensor* sigmoid(Tensor* a);
  /// Halves of a row, one gated by the other: ggml_swiglu, ggml_geglu.
  Tensor* glu(Tensor* a);
  /// `a` gated by `b`: ggml_swiglu_split, ggml_geglu_split.
  Tensor* glu_split(Tensor* a, Tensor* b);
  Tensor* rope(Tensor* a, Tensor* positions, Tensor* factors);
  Tensor* soft_max(Tensor* a, Tensor* mask = nullptr);

  Tensor* mul_mat(Tensor* a, Tensor* b);
  Tensor* mul_mat_id(Tensor* as, Tensor* b, Tensor* ids);
  Tensor* flash_attention(Tensor* q, Tensor* k, Tensor* v, Tensor* mask);
  Tensor* get_rows(Tensor* a, Tensor* rows);
  /// Rows of `b` into `a`, whose view it is.
  Tensor* set_rows(Tensor* a, Tensor* b, Tensor* rows);
  /// `a` into `b`, whose view it is.
  Tensor* cpy(Tensor* a, Tensor* b);
  Tensor* cast(Tensor* a, Type type);
  Tensor* argsort(Tensor* a);
  Tensor* argsort_top_k(Tensor* a, std::int64_t k);
  Tensor* sum_rows(Tensor* a);
  Tensor* concat(Tensor* a, Tensor* b, std::size_t dim);
  Tensor* repeat(Tensor* a, Shape ne);
  Tensor* pad(Tensor* a, std::int64_t more);  ///< elements behind each row
  Tensor* ssm_conv(Tensor* x, Tensor* kernel);
  Tensor* gated_delta_net(Tensor* q, Tensor* k, Tensor* v, Tensor* gate, Tensor* beta,
                          Tensor* state);

  Tensor* cont(Tensor* a) { return same_shape_as(Op::Cont, a); }
  Tensor* cont(Tensor* a, Shape ne);
  Tensor* reshape(Tensor* a, Shape ne);
  /// `strides` of the dimensions behind the first, in bytes.
  Tensor* view(Tensor* a, Shape ne, std::array<std::uint64_t, 3> strides, std::uint64_t offset);
  Tensor* view_2d(Tensor* a, std::int64_t ne0, std::int64_t ne1, std::uint64_t stride,
                  std::uint64_t offset);
  Tensor* view_1d(Tensor* a, std::int64_t ne0, std::uint64_t offset);
  /// The whole of it: ggml_view_tensor.
  Tensor* view_all(Tensor* a);
  Tensor* permute(Tensor* a, std::array<std::size_t, kMaxDims> to);
  Tensor* transpose(Tensor* a);

 private:
  Tensor* make(Op op, Type type, Shape ne);
  Tensor* make_view(Op op, Tensor* of, Shape ne, std::uint64_t offset);
  Tensor* same_shape_as(Op op, Tensor* a);
  Tensor* same_shape_as(Op op, Tensor* a, Tensor* b);

  static constexpr std::uint32_t kBlock =
      256;  ///< tensors in one allocation, small enough for the heap to keep it

  std::vector<std::unique_ptr<std::array<Tensor, kBlock>>> blocks_;
  std::uint32_t first_id_;
  std::uint32_t next_id_;
};

}  // namespace vramfit::llamacpp::ggml
