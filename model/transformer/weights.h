#pragma once

#include <array>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "model/ops/op_context.h"
#include "model/parallel/shard.h"
#include "model/transformer/lora.h"
#include "model/transformer/parameters.h"

namespace vramfit {

/// What a rank keeps of a parameter that ranks cut: of each tensor its part or, where the strategy
/// leaves it whole, all of it with the padding that the cut needs.
struct ShardStorage {
  Shard shard;
  Tensor value;
  Tensor scales;  ///< (rows): cut as the value's rows are
  Tensor gradient;
};

/// A parameter on a device, and its gradient from the moment backward first produces it. Where
/// ranks cut it, value, scales and gradient are views: of what is kept, or of where the whole is
/// for as long as it is there.
struct Parameter {
  ParameterSpec spec;
  bool trained;  ///< else it is frozen, and has no gradient
  Tensor value;
  Tensor scales;  ///< (rows), fp32: of 8-bit weights
  Tensor gradient;
  std::optional<ShardStorage> storage;

  /// What this rank updates: all of it on one that shares nothing.
  Tensor own_value() const;
  Tensor own_gradient() const;
};

/// Rows of a parameter, or all of it.
struct ParameterPart {
  const ParameterSpec& spec;
  std::uint64_t number;  ///< the parameter's, in parameter_specs; adapters' come behind
  std::int64_t first;    ///< which of its elements is the part's first
};

/// What a parameter holds at first: fills `to` with the part, in whatever type of elements it has,
/// and the padding behind it with zeros.
using ParameterSource = std::function<void(Device&, const ParameterPart&, Tensor& to)>;

/// As its spec has it, by its number: models of one seed have the same weights in every type.
void draw_parameter(Device& device, const ParameterPart& part, Tensor& to);

/// Where a parameter's gradient is born: the tensor that backward writes.
using GradientSource = std::function<Tensor(Parameter&)>;

/// Where a gradient goes: `accumulate` says whether it adds to what is there.
struct GradientTarget {
  Tensor& tensor;
  bool accumulate;
};

/// A model's parameters, allocated and initialized in the order of their specs. What is stored
/// quantised comes from its source and is quantised a slab of rows at a time, so that it never
/// exists otherwise. Adapters come last; where there are some, they alone are trained. Of what
/// ranks cut each draws its own part; of a pipeline's stage there is what the stage has.
class Weights {
 public:
  Weights(OpContext& context, const ModelConfig& config, const ParameterSource& source,
          const Adapters& adapters, const Mesh& mesh);

  const Tensor& value(Role role, int layer = -1) const { return at(role, layer).value; }
  /// Null where the model has no such parameter.
  const Tensor* optional_value(Role role, int layer = -1) const;
  /// Of its rows; null where it is not in 8 bits.
  const Tensor* scales(Role role, int layer = -1) const;

  bool trains(Role role, int layer = -1) const { return at(role, layer).trained; }
  /// Born here where it was not there yet. Of a parameter that is trained.
  GradientTarget gradient(OpContext& context, Role role, int layer = -1);
  void free_gradients();
  /// Instead of tensors of their own, which each has otherwise.
  void set_gradient_source(GradientSource source) { gradient_source_ = std::move(source); }

  /// The head's weight: its own, or the token embedding.
  Role head_role() const;

  std::vector<const Parameter*> trained() const;
  std::vector<Parameter>& all() { return parameters_; }
  const std::vector<Parameter>& all() const { return parameters_; }

 private:
  const Parameter& at(Role role, int layer) const;

  static constexpr int kAbsent = -1;
  GradientSource gradient_source_;
  std::vector<Parameter> parameters_;
  /// Index into parameters_ by layer (0: outside the blocks) and role.
  std::vector<std::array<int, kRoles>> index_;
};

}  // namespace vramfit
