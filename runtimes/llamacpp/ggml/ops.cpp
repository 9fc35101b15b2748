#include "runtimes/llamacpp/ggml/ops.h"

#include <algorithm>

#include "model/errors.h"

namespace vramfit::llamacpp::ggml {
namespace {

/// What ggml.c asserts of shapes, which come from a file.
void require(bool holds, const char* what) {
  if (!holds) {
    throw BadInput(std::string("the model's tensors do not fit together (") + what +
                   "); their shapes must be those of its architecture");
  }
}

/// A weight may be missing in a file.
void require_there(const Tensor* weight) { require(weight != nullptr, "one is missing"); }

/// Beyond what any tensor has, and so that no sum of those of a graph overflows 64 bits.
constexpr std::uint64_t kLargestTensor = std::uint64_t{1} << 46;

Strides packed(Type type, const Shape& ne) {
  Strides nb{};
  nb[0] = type.bytes;
  std::uint64_t size = nb[0];
  for (std::size_t i = 0; i < kMaxDims; ++i) {
    std::uint64_t elements = static_cast<std::uint64_t>(ne[i]);
    if (i == 0) elements /= type.block;
    if (ne[i] < 0 || __builtin_mul_overflow(size, elements, &size) || size > kLargestTensor) {
      throw BadInput("a tensor of the graph has more than 64 TiB; take a shorter context or batch");
    }
    if (i + 1 < kMaxDims) nb[i + 1] = size;
  }
  return nb;
}

}  // namespace

void Ops::clear() { next_id_ = first_id_; }

Tensor* Ops::make(Op op, Type type, Shape ne) {
  const std::uint32_t place = next_id_ - first_id_;
  if (place / kBlock == blocks_.size()) {
    blocks_.push_back(std::make_unique<std::array<Tensor, kBlock>>());
  }
  Tensor& made = (*blocks_[place / kBlock])[place % kBlock];
  made = Tensor{};
  made.op = op;
  made.type = type;
  made.ne = ne;
  made.nb = packed(type, ne);
  made.id = next_id_++;
  return &made;
}

// ggml_new_tensor_impl: a view of a view is one of what that one looks at.
Tensor* Ops::make_view(Op op, Tensor* of, Shape ne, std::uint64_t offset) {
  Tensor* view = make(op, of->type, ne);
  view->view_of = of->is_view() ? of->view_of : of;
  view->view_offset = of->view_offset + offset;
  return view;
}

Tensor* Ops::same_shape_as(Op op, Tensor* a) {
  Tensor* made = make(op, a->type, a->ne);
  made->add_source(a);
  return made;
}

Tensor* Ops::same_shape_as(Op op, Tensor* a, Tensor* b) {
  require_there(b);
  Tensor* made = same_shape_as(op, a);
  for (std::size_t i = 0; i < kMaxDims; ++i) {
    require(b->ne[i] > 0 && a->ne[i] % b->ne[i] == 0, "a sum of unlike shapes");
  }
  made->add_source(b);
  return made;
}

Tensor* Ops::tensor(Type type, Shape ne) { return make(Op::None, type, ne); }

Tensor* Ops::input(Type type, Shape ne) {
  Tensor* made = tensor(type, ne);
  made->input = true;
  return made;
}

Tensor* Ops::allocated(Type type, Shape ne, BackendId buffer) {
  Tensor* made = tensor(type, ne);
  made->buffer = buffer;
  return made;
}

Tensor* Ops::copy_layout(const Tensor& of) {
  Tensor* copy = tensor(of.type, of.ne);
  copy->nb = of.nb;
  return copy;
}

Tensor* Ops::add_id(Tensor* a, Tensor* b, Tensor* ids) {
  Tensor* made = make(Op::AddId, a->type, a->ne);
  for (Tensor* source : {a, b, ids}) made->add_source(source);
  return made;
}

Tensor* Ops::scale_inplace(Tensor* a) {
  Tensor* made = view_all(a);
  made->op = Op::Scale;
  return made;
}

Tensor* Ops::sigmoid(Tensor* a) {
  Tensor* made = unary(a);
  made->unary = Unary::Sigmoid;
  return made;
}

Tensor* Ops::glu(Tensor* a) {
  Tensor* made = make(Op::Glu, a->type, {a->ne[0] / 2, a->ne[1], a->ne[2], a->ne[3]});
  made->add_source(a);
  return made;
}

Tensor* Ops::glu_split(Tensor* a, Tensor* b) {
  require(same_shape(*a, *b), "a gate unlike what it gates");
  return same_shape_as(Op::Glu, a, b);
}

Tensor* Ops::rope(Tensor* a, Tensor* positions, Tensor* factors) {
  Tensor* made = make(Op::Rope, a->type, a->ne);
  for (Tensor* source : {a, positions, factors}) made->add_source(source);
  return made;
}

Tensor* Ops::soft_max(Tensor* a, Tensor* mask) {
  Tensor* made = make(Op::SoftMax, a->type, a->ne);
  made->add_source(a);
  made->add_source(mask);
  return made;
}

Tensor* Ops::mul_mat(Tensor* a, Tensor* b) {
  require_there(a);
  require(a->ne[0] == b->ne[0] && a->ne[2] > 0 && a->ne[3] > 0 && b->ne[2] % a->ne[2] == 0 &&
              b->ne[3] % a->ne[3] == 0,
          "a product of unlike rows");
  Tensor* made = make(Op::MulMat, kF32, {a->ne[1], b->ne[1], b->ne[2], b->ne[3]});
  made->add_source(a);
  made->add_source(b);
  return made;
}

Tensor* Ops::mul_mat_id(Tensor* as, Tensor* b, Tensor* ids) {
  require_there(as);
  require(as->ne[0] == b->ne[0], "a product of unlike rows of experts");
  Tensor* made = make(Op::MulMatId, kF32, {as->ne[1], ids->ne[0], b->ne[2], 1});
  for (Tensor* source : {as, b, ids}) made->add_source(source);
  return made;
}

Tensor* Ops::flash_attention(Tensor* q, Tensor* k, Tensor* v, Tensor* mask) {
  require(k->ne[0] == q->ne[0] && k->ne[2] > 0 && q->ne[2] % k->ne[2] == 0,
          "heads of queries and keys");
  Tensor* made = make(Op::FlashAttention, kF32, {v->ne[0], q->ne[2], q->ne[1], q->ne[3]});
  for (Tensor* source : {q, k, v, mask}) made->add_source(source);
  return made;
}

Tensor* Ops::get_rows(Tensor* a, Tensor* rows) {
  const Type type = a->type == kI32 ? kI32 : kF32;
  Tensor* made = make(Op::GetRows, type, {a->ne[0], rows->ne[0], rows->ne[1], rows->ne[2]});
  made->add_source(a);
  made->add_source(rows);
  return made;
}

Tensor* Ops::set_rows(Tensor* a, Tensor* b, Tensor* rows) {
  require(a->ne[0] == b->ne[0], "a row of the cache");
  Tensor* made = make_view(Op::SetRows, a, a->ne, 0);
  made->nb = a->nb;
  for (Tensor* source : {b, rows, a}) made->add_source(source);
  return made;
}

Tensor* Ops::cpy(Tensor* a, Tensor* b) {
  require(a->elements() == b->elements(), "a copy of another size");
  Tensor* made = make_view(Op::Cpy, b, b->ne, 0);
  made->nb = b->nb;
  made->add_source(a);
  made->add_source(b);
  return made;
}

// ggml_cast is a source of itself.
Tensor* Ops::cast(Tensor* a, Type type) {
  Tensor* made = make(Op::Cpy, type, a->ne);
  made->add_source(a);
  made->add_source(made);
  return made;
}

Tensor* Ops::argsort(Tensor* a) {
  Tensor* made = make(Op::Argsort, kI32, a->ne);
  made->add_source(a);
  return made;
}

Tensor* Ops::argsort_top_k(Tensor* a, std::int64_t k) {
  require(1 <= k && k <= a->ne[0], "experts used of those there are");
  Tensor* sorted = argsort(a);
  return view(sorted, {k, a->ne[1], a->ne[2], a->ne[3]},
              {sorted->nb[1], sorted->nb[2], sorted->nb[3]}, 0);
}

Tensor* Ops::sum_rows(Tensor* a) {
  Tensor* made = make(Op::SumRows, a->type, {1, a->ne[1], a->ne[2], a->ne[3]});
  made->add_source(a);
  return made;
}

Tensor* Ops::concat(Tensor* a, Tensor* b, std::size_t dim) {
  Shape ne = a->ne;
  for (std::size_t i = 0; i < kMaxDims; ++i)
    require(i == dim || a->ne[i] == b->ne[i], "a row of two");
  ne.at(dim) += b->ne.at(dim);
  Tensor* made = make(Op::Concat, a->type, ne);
  made->add_source(a);
  made->add_source(b);
  return made;
}

Tensor* Ops::repeat(Tensor* a, Shape ne) {
  Tensor* made = make(Op::Repeat, a->type, ne);
  made->add_source(a);
  return made;
}

Tensor* Ops::pad(Tensor* a, std::int64_t more) {
  Tensor* made = make(Op::Pad, a->type, {a->ne[0] + more, a->ne[1], a->ne[2], a->ne[3]});
  made->add_source(a);
  return made;
}

Tensor* Ops::ssm_conv(Tensor* x, Tensor* kernel) {
  require_there(kernel);
  require(x->ne[1] == kernel->ne[1] && x->ne[0] >= kernel->ne[0], "a convolution's channels");
  Tensor* made =
      make(Op::SsmConv, kF32, {kernel->ne[1], x->ne[0] - kernel->ne[0] + 1, x->ne[2], 1});
  made->add_source(x);
  made->add_source(kernel);
  return made;
}

// Tokens' outputs, and behind them the state of each sequence.
Tensor* Ops::gated_delta_net(Tensor* q, Tensor* k, Tensor* v, Tensor* gate, Tensor* beta,
                             Tensor* state) {
  const std::int64_t size = v->ne[0];
  const std::int64_t sequences = v->ne[3];
  Tensor* made = make(Op::GatedDeltaNet, kF32,
                      {size * v->ne[1], v->ne[2] * sequences + size * sequences, 1, 1});
  for (Tensor* source : {q, k, v, gate, beta, state}) made->add_source(source);
  return made;
}

Tensor* Ops::cont(Tensor* a, Shape ne) {
  Tensor* made = make(Op::Cont, a->type, ne);
  require(made->elements() == a->elements(), "a tensor laid out anew");
  made->add_source(a);
  return made;
}

Tensor* Ops::reshape(Tensor* a, Shape ne) {
  Tensor* made = make_view(Op::Reshape, a, ne, 0);
  require(made->elements() == a->elements(), "a tensor of another shape");
  made->add_source(a);
  return made;
}

Tensor* Ops::view(Tensor* a, Shape ne, std::array<std::uint64_t, 3> strides, std::uint64_t offset) {
  Tensor* made = make_view(Op::View, a, ne, offset);
  std::copy(strides.begin(), strides.end(), made->nb.begin() + 1);
  made->add_source(a);
  return made;
}

Tensor* Ops::view_2d(Tensor* a, std::int64_t ne0, std::int64_t ne1, std::uint64_t stride,
                     std::uint64_t offset) {
  const std::uint64_t whole = stride * static_cast<std::uint64_t>(ne1);
  return view(a, {ne0, ne1, 1, 1}, {stride, whole, whole}, offset);
}

Tensor* Ops::view_1d(Tensor* a, std::int64_t ne0, std::uint64_t offset) {
  return view_2d(a, ne0, 1, a->type.row_size(ne0), offset);
}

Tensor* Ops::view_all(Tensor* a) {
  Tensor* made = make_view(Op::View, a, a->ne, 0);
  made->nb = a->nb;
  made->add_source(a);
  return made;
}

Tensor* Ops::permute(Tensor* a, std::array<std::size_t, kMaxDims> to) {
  Tensor* made = make_view(Op::Permute, a, a->ne, 0);
  for (std::size_t i = 0; i < kMaxDims; ++i) {
    made->ne.at(to[i]) = a->ne[i];
    made->nb.at(to[i]) = a->nb[i];
  }
  made->add_source(a);
  return made;
}

Tensor* Ops::transpose(Tensor* a) {
  Tensor* made = view_all(a);
  made->op = Op::Transpose;
  std::swap(made->ne[0], made->ne[1]);
  std::swap(made->nb[0], made->nb[1]);
  return made;
}

}  // namespace vramfit::llamacpp::ggml
