#include "model/errors.h"
#include "runtimes/pytorch/torch/aten/ops.h"
#include "runtimes/pytorch/torch/ops/binary.h"
#include "runtimes/pytorch/torch/ops/cast.h"
#include "runtimes/pytorch/torch/ops/cast_contiguous.h"
#include "runtimes/pytorch/torch/ops/elementwise.h"
#include "runtimes/pytorch/torch/ops/iterator.h"
#include "runtimes/pytorch/torch/ops/unary.h"
#include "runtimes/pytorch/torch/ops/view.h"

namespace vramfit::pytorch::aten {
namespace {

/// Of a number among the arguments.
ScalarType number_type(const Call& call, std::size_t i) {
  return call.is_real(i)   ? ScalarType::Float
         : call.is_flag(i) ? ScalarType::Bool
                           : ScalarType::Long;
}

/// The type that an op gives by a number: at::result_type.
ScalarType with_number(const Call& call, std::size_t i, ScalarType type) {
  if (!call.has(i) || call.is_tensor(i) || is_floating(type)) return type;
  const ScalarType number = number_type(call, i);
  return is_floating(number) || type == ScalarType::Bool ? promote(type, number) : type;
}

ScalarType common_type(const Call& call) {
  const Tensor a = call.tensor(0);
  return call.is_tensor(1) ? result_type(a, call.tensor(1)) : with_number(call, 1, a.type());
}

/// Not differentiated, or of types that have no gradient.
Tensor pointwise(const Call& call, ScalarType type) {
  const Tensor a = call.tensor(0);
  if (!call.is_tensor(1)) return empty_for({&a}, type);
  const Tensor b = call.tensor(1);
  return empty_for({&a, &b}, type);
}

Results compared(const Call& call) { return {pointwise(call, ScalarType::Bool)}; }

/// floor_divide, bitwise ops.
Results plain(const Call& call) { return {pointwise(call, common_type(call))}; }

/// By a tensor, or else by a number: that is what `by_number` saves and does. A number is first
/// where it was a tensor of the host's.
template <Tensor (*kByTensor)(const Tensor&, const Tensor&), Tensor (*kByNumber)(const Tensor&)>
Results arithmetic(const Call& call) {
  if (!call.is_tensor(0)) {
    const Tensor b = call.tensor(1);
    const ScalarType type = with_number(call, 0, b.type());
    return {is_floating(b.type()) ? kByNumber(b) : empty_for({&b}, type)};
  }
  const Tensor a = call.tensor(0);
  if (call.is_tensor(1)) return {kByTensor(a, call.tensor(1))};
  if (!is_floating(a.type())) return plain(call);
  return {kByNumber(a)};
}

Results divided(const Call& call) {
  const Tensor a = call.tensor(0);
  if (call.is_tensor(1)) return {div(a, call.tensor(1))};
  if (!is_floating(a.type())) return {empty_for({&a}, ScalarType::Float)};
  return {mul_scalar(a)};
}

/// number - self: the gradient is negated.
Results subtracted_from(const Call& call) {
  const Tensor a = call.tensor(0);
  return is_floating(a.type()) ? Results{mul_scalar(a)} : plain(call);
}

/// Rounded: no gradient flows.
Results divided_by_mode(const Call& call) {
  if (call.tensor(0).requires_grad() || call.tensor(1).requires_grad()) {
    throw BadInput("a gradient of a division that rounds is not predicted yet");
  }
  return plain(call);
}

template <void (*kByTensor)(const Tensor&, const Tensor&), void (*kByNumber)(const Tensor&)>
Results in_place(const Call& call) {
  const Tensor a = call.tensor(0);
  call.is_tensor(1) ? kByTensor(a, call.tensor(1)) : kByNumber(a);
  return {a};
}

void keep_gradient(const Tensor& a) { add_(a, Tensor()); }
void zero_gradient(const Tensor& a) { copy_(a, Tensor()); }

/// torch.pow(x, 2) and its kin are among the ops that run in fp32 under autocast.
Results powered(const Call& call) {
  const Tensor a = upper(call.tensor(0));
  if (!is_floating(a.type())) return {empty_for({&a}, with_number(call, 1, a.type()))};
  if (call.real(1) == 0 || call.real(1) == 1) {
    throw BadInput("a power of 0 or 1 is not predicted yet");
  }
  return {pow(a)};
}

Results squared(const Call& call) {
  const Tensor a = upper(call.tensor(0));
  return {is_floating(a.type()) ? pow(a) : like(a)};
}

Results powered_by_tensor(const Call& call) {
  const Tensor exponent = upper(call.tensor(1));
  return {power(upper(call.tensor(0)), exponent)};
}

template <Tensor (*kOp)(const Tensor&)>
Results unary(const Call& call) {
  return {kOp(call.tensor(0))};
}

/// Of the ops that run in fp32 under autocast.
template <Tensor (*kOp)(const Tensor&)>
Results unary_in_float(const Call& call) {
  return {kOp(upper(call.tensor(0)))};
}

Results negated(const Call& call) {
  const Tensor a = call.tensor(0);
  return {is_floating(a.type()) ? neg(a) : like(a)};
}

Results logical(const Call& call) { return {pointwise(call, ScalarType::Bool)}; }

/// (self, dtype, non_blocking, copy, memory_format): a tape has torch.contiguous_format as true.
Results cast_to(const Call& call) {
  const Tensor a = call.tensor(0);
  const ScalarType type = *call.type(1);
  const bool contiguous = call.flag(4) || call.text(4) == "torch.contiguous_format";
  return {contiguous ? to_contiguous(a, type) : to(a, type)};
}

Results cast_as(const Call& call) { return {to(call.tensor(0), call.tensor(1).type())}; }

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

Results masked(const Call& call) { return {masked_fill(call.tensor(0), call.tensor(1))}; }

Results masked_in_place(const Call& call) {
  const Tensor a = call.tensor(0);
  masked_fill_(a, call.tensor(1));
  return {a};
}

/// (self, min, max)
int bounds(const Call& call) {
  if (call.is_tensor(1) || call.is_tensor(2)) {
    throw BadInput("clamp by tensors is not predicted yet");
  }
  return (call.has(1) ? 1 : 0) + (call.has(2) ? 1 : 0);
}

Results clamped(const Call& call) {
  const Tensor a = call.tensor(0);
  const ScalarType type = with_number(call, 1, with_number(call, 2, a.type()));
  if (type != a.type()) return {empty_for({&a}, type)};
  return {clamp(a, bounds(call))};
}

/// (self, min, max), tensors
Results clamped_by_tensors(const Call& call) {
  const Tensor a = call.tensor(0);
  const Tensor least = call.tensor(1);
  const Tensor most = call.tensor(2);
  if (a.requires_grad() || (least.defined() && least.requires_grad()) || most.defined()) {
    throw BadInput("clamp by tensors is not predicted with a gradient, or with a largest, yet");
  }
  return {empty_for({&a, &least}, result_type(a, least))};
}

Results clamped_in_place(const Call& call) {
  const Tensor a = call.tensor(0);
  clamp_(a, bounds(call));
  return {a};
}

Results chosen(const Call& call) { return {where(call.tensor(0), call.tensor(1), call.tensor(2))}; }

/// (condition, self, other), one of the two a number.
Results chosen_or_number(const Call& call) {
  return {where_else(call.tensor(0), call.tensor(1), number_type(call, 2))};
}

/// Both numbers.
Results number_by_condition(const Call& call) {
  const Tensor condition = call.tensor(0);
  const ScalarType type = promote(number_type(call, 1), number_type(call, 2));
  const Tensor other = empty(call.context, {}, type);
  const Tensor own = empty(call.context, {}, type);
  return {empty_for({&condition}, type)};
}

/// (condition, number, other)
Results number_or_chosen(const Call& call) {
  return {where_number(call.tensor(0), number_type(call, 1), call.tensor(2))};
}

/// clamp_min: where(self >= min, grad, 0).
Results clamped_below(const Call& call) { return {clamp(call.tensor(0), 1)}; }

/// The gradient is that of what is divided.
Results remainder(const Call& call) {
  const Tensor a = call.tensor(0);
  return is_floating(a.type()) ? Results{add_scalar(a)} : plain(call);
}

/// (abs, angle)
Results polar_op(const Call& call) {
  const Tensor length = call.tensor(0);
  const Tensor angle = call.tensor(1);
  if (length.requires_grad() || angle.requires_grad()) {
    throw BadInput("a gradient of polar coordinates is not predicted yet");
  }
  return {empty_for({&length, &angle}, ScalarType::ComplexFloat)};
}

Results gelu_op(const Call& call) { return {gelu(call.tensor(0))}; }

/// (self, p, train)
Results dropout_op(const Call& call) {
  return {dropout(call.tensor(0), call.real(1), call.flag(2))};
}

constexpr NamedOp kElementwiseOps[] = {
    {"add.Tensor", arithmetic<add, add_scalar>},
    {"sub.Tensor", arithmetic<sub, add_scalar>},
    {"mul.Tensor", arithmetic<mul, mul_scalar>},
    {"multiply.Tensor", arithmetic<mul, mul_scalar>},
    {"div.Tensor", divided},
    {"div.Tensor_mode", divided_by_mode},
    {"rsub.Scalar", subtracted_from},
    {"add_.Tensor", in_place<add_, keep_gradient>},
    {"sub_.Tensor", in_place<sub_, keep_gradient>},
    {"mul_.Tensor", in_place<mul_, scale_>},
    {"div_.Tensor", in_place<div_, scale_>},
    {"copy_", in_place<copy_, zero_gradient>},
    {"fill_.Scalar", in_place<copy_, zero_gradient>},
    {"maximum", arithmetic<extremum, neg>},
    {"max.other", arithmetic<extremum, neg>},
    {"min.other", arithmetic<extremum, neg>},
    {"pow.Tensor_Scalar", powered},
    {"pow.Tensor_Tensor", powered_by_tensor},
    {"pow.Scalar", powered_by_tensor},
    {"square", squared},
    {"neg", negated},
    {"abs", unary<abs>},
    {"floor", unary<floor>},
    {"sqrt", unary<sqrt>},
    {"rsqrt", unary_in_float<rsqrt>},
    {"reciprocal", unary_in_float<reciprocal>},
    {"exp", unary_in_float<exp>},
    {"expm1", unary_in_float<expm1>},
    {"log", unary_in_float<log>},
    {"log1p", unary_in_float<log1p>},
    {"erfinv", unary_in_float<erfinv>},
    {"cos", unary<cos>},
    {"sin", unary<sin>},
    {"silu", unary<silu>},
    {"gelu", gelu_op},
    {"relu", unary<relu>},
    {"tanh", unary<tanh>},
    {"sigmoid", unary<sigmoid>},
    {"log_sigmoid", unary<log_sigmoid>},
    {"softplus", unary_in_float<softplus>},
    {"dropout", dropout_op},
    {"to.dtype", cast_to},
    {"to.device", moved_to},
    {"to.dtype_layout", laid_out},
    {"type_as", cast_as},
    {"eq.Scalar", compared},
    {"eq.Tensor", compared},
    {"ne.Scalar", compared},
    {"ne.Tensor", compared},
    {"ge.Scalar", compared},
    {"ge.Tensor", compared},
    {"gt.Scalar", compared},
    {"gt.Tensor", compared},
    {"greater.Scalar", compared},
    {"le.Scalar", compared},
    {"le.Tensor", compared},
    {"lt.Scalar", compared},
    {"lt.Tensor", compared},
    {"logical_or", logical},
    {"logical_not", logical},
    {"__or__.Tensor", plain},
    {"__and__.Tensor", plain},
    {"bitwise_not", plain},
    {"bitwise_xor.Tensor", plain},
    {"polar", polar_op},
    {"floor_divide", plain},
    {"clamp", clamped},
    {"clamp_", clamped_in_place},
    {"clamp.Tensor", clamped_by_tensors},
    {"masked_fill.Scalar", masked},
    {"masked_fill_.Scalar", masked_in_place},
    {"where.self", chosen},
    {"where.ScalarOther", chosen_or_number},
    {"where.ScalarSelf", number_or_chosen},
    {"where.Scalar", number_by_condition},
    {"clamp_min", clamped_below},
    {"remainder.Scalar", remainder},
};

}  // namespace

std::span<const NamedOp> elementwise_ops() { return kElementwiseOps; }

}  // namespace vramfit::pytorch::aten
