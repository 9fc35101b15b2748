#pragma once

#include <span>
#include <string>
#include <string_view>

#include "model/dtype.h"
#include "model/ops/arch.h"
#include "model/precisions.h"

namespace vramfit {

struct ModelConfig;

/// What a model is stored and computed in: plainly in one type, or, where it generates or is frozen
/// beside adapters, with the weights of its linears quantised; where it is trained, with codes that
/// are made of stored weights, inputs and gradients for each product. Embeddings, norms and, unless
/// it is asked for, the head stay in the type of the activations, as practice has it.
struct ModelPrecision {
  const char* name;   ///< as --precision spells it
  DType activations;  ///< and all that is not said below
  Format linears;     ///< weights of the blocks' projections
  Format inputs;      ///< what multiplies them: of 8 bits, or as the activations are
  bool trains_codes;  ///< weights of 16 bits are trained whose linears multiply codes of `inputs`
  int sm;             ///< the oldest compute capability that multiplies so, 10 · major + minor

  constexpr ModelPrecision(DType plain)
      : ModelPrecision(Format(plain).name(), plain, plain, plain, false, 0) {}
  constexpr ModelPrecision(const char* name_, DType activations_, Format linears_, Format inputs_,
                           bool trains_codes_, int sm_)
      : name(name_),
        activations(activations_),
        linears(linears_),
        inputs(inputs_),
        trains_codes(trains_codes_),
        sm(sm_) {}

  bool quantized() const { return linears != Format(activations); }
  /// Whether all of a model is trained so.
  bool trains() const { return !quantized() || trains_codes; }
  Precisions precisions(bool quantize_head) const;
  /// Of a model that is trained: weights as activations are.
  Precisions trained_precisions() const;

  friend bool operator==(const ModelPrecision& a, const ModelPrecision& b) {
    return std::string_view(a.name) == b.name;
  }
};

/// Every one, fp64 last, which is for tests.
std::span<const ModelPrecision> model_precisions();

/// Those that quantise by name: "fp8, int8, int8-wo" and so on.
std::string quantized_precisions(const std::string& last_comma = ", ");

/// Throws BadInput with those there are.
ModelPrecision parse_model_precision(const std::string& text);

/// Throws BadInput where such a GPU does not multiply so.
void require_arch(const ModelPrecision& precision, Arch arch);

/// Throws BadInput where some linear's sizes do not go with the formats.
void require_linears(const ModelConfig& config, const ModelPrecision& precision,
                     bool quantize_head);

}  // namespace vramfit
