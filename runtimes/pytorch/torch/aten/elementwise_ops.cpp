#include "model/errors.h"
#include "runtimes/pytorch/torch/aten/ops.h"
#include "runtimes/pytorch/torch/ops/cast.h"
#include "runtimes/pytorch/torch/ops/elementwise.h"
#include "runtimes/pytorch/torch/ops/iterator.h"

namespace vramfit::pytorch::aten {
namespace {

/// The type that an op gives by a number: at::result_type.
ScalarType with_scalar(const Call& call, std::size_t i, ScalarType type) {
  const bool real = call.has(i) && !call.is_tensor(i) && call.is_real(i);
  return real && !is_floating(type) ? ScalarType::Float : type;
}

/// Not differentiated, or of types that have no gradient.
Results pointwise(const Call& call, ScalarType type) {
  const Tensor a = call.tensor(0);
  if (!call.is_tensor(1)) return {empty_for({&a}, type)};
  const Tensor b = call.tensor(1);
  return {empty_for({&a, &b}, type)};
}

Results compared(const Call& call) { return pointwise(call, ScalarType::Bool); }

Results of_integers(const Call& call) { return pointwise(call, call.tensor(0).type()); }

Results added(const Call& call) {
  const Tensor a = call.tensor(0);
  if (call.is_tensor(1)) return {add(a, call.tensor(1))};
  if (!is_floating(a.type())) return pointwise(call, with_scalar(call, 1, a.type()));
  return {add_scalar(a)};
}

Results multiplied(const Call& call) {
  const Tensor a = call.tensor(0);
  if (call.is_tensor(1)) return {mul(a, call.tensor(1))};
  if (!is_floating(a.type())) return pointwise(call, with_scalar(call, 1, a.type()));
  return {mul_scalar(a)};
}

Results divided(const Call& call) {
  const Tensor a = call.tensor(0);
  if (call.is_tensor(1)) throw BadInput("div.Tensor of two tensors is not predicted yet");
  const ScalarType type = is_floating(a.type()) ? a.type() : ScalarType::Float;
  return is_floating(a.type()) ? Results{mul_scalar(a)} : pointwise(call, type);
}

/// (base, exponent)
Results power_of_number(const Call& call) {
  const Tensor a = call.tensor(1);
  return {pointwise_no_grad(a, a.type())};
}

Results divided_in_place(const Call& call) {
  const Tensor a = call.tensor(0);
  call.is_tensor(1) ? div_(a, call.tensor(1)) : scale_(a);
  return {a};
}

/// torch.pow(x, 2) is one of the ops that run in fp32 under autocast.
Results powered(const Call& call) { return {pow(upper(call.tensor(0)))}; }

template <Tensor (*kOp)(const Tensor&)>
Results unary(const Call& call) {
  return {kOp(call.tensor(0))};
}

Results cast_to(const Call& call) { return {to(call.tensor(0), *call.type(1))}; }

/// (self, device, dtype)
Results moved_to(const Call& call) {
  const Tensor a = call.tensor(0);
  return {to(a, call.type(2).value_or(a.type()))};
}

/// (self, dtype, layout, device)
Results laid_out(const Call& call) {
  const Tensor a = call.tensor(0);
  return {to(a, call.type(1).value_or(a.type()))};
}

Results cosine(const Call& call) { return pointwise(call, call.tensor(0).type()); }

Results masked(const Call& call) { return {masked_fill(call.tensor(0), call.tensor(1))}; }

Results masked_in_place(const Call& call) {
  const Tensor a = call.tensor(0);
  masked_fill_(a, call.tensor(1));
  return {a};
}

/// Of tensors that nobody wants a gradient of.
Results in_place(const Call& call) { return {call.tensor(0)}; }

constexpr NamedOp kElementwiseOps[] = {
    {"add.Tensor", added},
    {"sub.Tensor", added},
    {"mul.Tensor", multiplied},
    {"div.Tensor", divided},
    {"pow.Scalar", power_of_number},
    {"reciprocal.default", cosine},
    {"div_.Tensor", divided_in_place},
    {"pow.Tensor_Scalar", powered},
    {"neg.default", unary<neg>},
    {"rsqrt.default", unary<rsqrt>},
    {"silu.default", unary<silu>},
    {"gelu.default", unary<gelu>},
    {"tanh.default", unary<tanh>},
    {"cos.default", cosine},
    {"sin.default", cosine},
    {"to.dtype", cast_to},
    {"to.device", moved_to},
    {"to.dtype_layout", laid_out},
    {"eq.Scalar", compared},
    {"ne.Scalar", compared},
    {"ge.Scalar", compared},
    {"floor_divide.default", of_integers},
    {"clamp_.default", in_place},
    {"masked_fill.Scalar", masked},
    {"masked_fill_.Scalar", masked_in_place},
};

}  // namespace

std::span<const NamedOp> elementwise_ops() { return kElementwiseOps; }

}  // namespace vramfit::pytorch::aten
