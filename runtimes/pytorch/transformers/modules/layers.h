#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "runtimes/pytorch/torch/tensor/context.h"
#include "runtimes/pytorch/torch/tensor/tensor.h"
#include "runtimes/pytorch/transformers/modules/quantized_weight.h"

// torch.nn's modules, and what transformers writes in their stead.
namespace vramfit::pytorch {

/// An nn.Parameter of the model, trainable until it is frozen.
Tensor parameter(Context& context, const Dims& sizes, ScalarType type);
/// What a module keeps beside its parameters, and no checkpoint holds.
Tensor buffer(Context& context, const Dims& sizes, ScalarType type);

/// What is called in place of a module's forward, where something was put around it.
template <typename Module>
using Forward = std::function<Tensor(const Module& module, const Tensor& x)>;

/// nn.Embedding.
class Embedding {
 public:
  Embedding() = default;
  Embedding(Context& context, std::int64_t rows, std::int64_t width, ScalarType type);
  Tensor operator()(const Tensor& indices) const;

  Tensor weight;
  Forward<Embedding> forward;
};

/// A low-rank adapter beside a frozen projection: peft/tuners/lora, layer.py and bnb.py, 0.21.
struct Lora {
  Tensor a;  ///< (rank, in)
  Tensor b;  ///< (out, rank)
  double dropout = 0;
};

/// nn.Linear, or transformers' Conv1D, whose weight is (in, out): gpt2's.
class Linear {
 public:
  enum class Layout { OutIn, InOut };
  Linear() = default;
  Linear(Context& context, std::int64_t in, std::int64_t out, bool bias, ScalarType type,
         Layout layout = Layout::OutIn);
  Tensor operator()(const Tensor& x) const;
  /// x W^T, and the bias where there is one.
  Tensor multiply(const Tensor& x, const Tensor& with_bias) const;

  std::int64_t in() const;
  std::int64_t out() const;
  bool is_transposed() const { return layout_ == Layout::InOut; }

  Tensor weight;
  mutable Tensor bias;  ///< bitsandbytes casts it for good
  std::optional<Lora> lora;
  std::shared_ptr<const QuantizedWeight> quantized;  ///< in place of a weight, whose shape stays
  Forward<Linear> forward;

 private:
  Tensor base(const Tensor& x) const;
  Tensor update(const Tensor& cast) const;
  Tensor adapted(const Tensor& x, Tensor result) const;
  Tensor adapted_quantized(const Tensor& x, Tensor result) const;
  Layout layout_ = Layout::OutIn;
};

/// nn.LayerNorm, or the RMS norms that transformers writes out op by op.
class Norm {
 public:
  enum class Kind { LayerNorm, LlamaRmsNorm, Olmo2RmsNorm, GemmaRmsNorm };
  Norm() = default;
  Norm(Context& context, Kind kind, std::int64_t width, ScalarType type);
  Tensor operator()(const Tensor& x) const;
  Tensor normalize(const Tensor& x) const;

  Tensor weight;
  Tensor bias;
  Forward<Norm> forward;

 private:
  Kind kind_ = Kind::LayerNorm;
};

/// transformers/activations.py, by the name that configs have for it.
enum class Activation { Silu, GeluOp, NewGelu, FastGelu };
Tensor activate(Activation activation, const Tensor& x);

}  // namespace vramfit::pytorch
