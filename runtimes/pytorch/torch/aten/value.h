#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtimes/pytorch/torch/tensor/tensor.h"

namespace vramfit::pytorch::aten {

/// By torch's name: "bfloat16". Nothing: it is none, or one that no op here takes.
std::optional<ScalarType> type_named(std::string_view name);

/// An argument of an op, as PyTorch's IValue is one; nothing is None.
struct Value : std::variant<std::monostate, Tensor, std::int64_t, double, bool, ScalarType,
                            std::string, std::vector<Value>> {
  using variant::variant;
  template <typename T>
  const T* as() const {
    return std::get_if<T>(static_cast<const variant*>(this));
  }
};

/// What an op is called with: its arguments in the order of its schema, without those at the end
/// that are as the schema has them.
class Call {
 public:
  Call(Context& context_, std::span<const Value> args) : context(context_), args_(args) {}

  Context& context;

  bool has(std::size_t i) const {
    return i < args_.size() && args_[i].as<std::monostate>() == nullptr;
  }
  bool is_tensor(std::size_t i) const { return get<Tensor>(i) != nullptr; }
  bool is_real(std::size_t i) const { return get<double>(i) != nullptr; }
  bool is_flag(std::size_t i) const { return get<bool>(i) != nullptr; }
  /// Undefined where there is none.
  Tensor tensor(std::size_t i) const { return is_tensor(i) ? *get<Tensor>(i) : Tensor(); }
  std::vector<Tensor> tensors(std::size_t i) const;
  std::int64_t integer(std::size_t i, std::int64_t otherwise = 0) const;
  /// Of a list of any length.
  std::vector<std::int64_t> integers(std::size_t i) const;
  double real(std::size_t i, double otherwise = 0) const;
  bool flag(std::size_t i, bool otherwise = false) const;
  std::string text(std::size_t i) const;
  std::optional<ScalarType> type(std::size_t i) const;
  /// Of a list of integers, or of one.
  Dims dims(std::size_t i) const;
  /// A dimension of a tensor of that rank, from 0.
  int dim(std::size_t i, int rank, std::int64_t otherwise = 0) const;

 private:
  template <typename T>
  const T* get(std::size_t i) const {
    return i < args_.size() ? args_[i].as<T>() : nullptr;
  }

  std::span<const Value> args_;
};

using Results = std::vector<Tensor>;
using Op = Results (*)(const Call&);

struct NamedOp {
  std::string_view name;  ///< with its overload, where that is not the default: "mul.Tensor"
  Op run;
};

}  // namespace vramfit::pytorch::aten
