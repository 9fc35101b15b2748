#pragma once

#include <deque>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "runtimes/pytorch/transformers/modules/causal_lm.h"
#include "runtimes/pytorch/transformers/taped/config_keys.h"
#include "runtimes/pytorch/transformers/taped/op_tape.h"

namespace vramfit::pytorch {

class Handed;

/// A causal language model that does what its tape says.
class TapedLm final : public CausalLm {
 public:
  /// The tape must outlive it. Throws BadInput where the tape does not say how.
  TapedLm(Context& context, const OpTape& tape, const ModelConfig& config,
          const ModelSettings& settings);

  Output forward(const Tensor& ids, bool with_labels) const override;
  SpecialTokens special_tokens() const override;
  bool takes_position_ids() const override;
  std::unique_ptr<GenerationCache> make_cache(bool is_static,
                                              std::int64_t most_tokens) const override;
  Tensor forward(const Tensor& ids, const StepInputs& step) const override;
  std::vector<NamedModule> named_modules() override;
  std::vector<Tensor*> buffers() override;
  void tie_weights() override;

 private:
  using Registers = std::vector<Tensor>;
  struct Cache final : GenerationCache {
    std::vector<Registers> layers;  ///< what is kept of each
  };
  /// Of each layer, and before them of none, something of each of OpTape::places.
  template <typename T>
  using OfPlaces = std::vector<std::vector<T>>;
  /// What runs: a program, or a layer of it.
  struct Frame {
    Registers& program;
    Registers& layer;
    Registers& carried;
    int index;  ///< the layer's; kNoLayer: a program's
    const Symbols& sizes;
    OfPlaces<Tensor>* bound;           ///< what becomes the model's
    const StepInputs* step = nullptr;  ///< of generate()
    Registers* state = nullptr;        ///< what its cache holds of the layer
    Handed* others = nullptr;          ///< what a layer that may be run again makes for later ones
  };

  /// What names the module of a parameter: "mlp.gate_proj" of "mlp.gate_proj.weight". One that is
  /// called otherwise is taken for a module by itself.
  static std::string module_of(const std::string& path);
  void build();
  void run(const Program& program, std::span<const Instruction> steps, Frame& frame) const;
  void repeat(const Program& program, const Instruction& loop, Frame& frame) const;
  void note_gradient(const Program& program, const Instruction& own, const Frame& frame) const;
  void run_layers(const Program& program, const Instruction& at, Frame& frame) const;
  void run_layer(const Program& program, std::int64_t layer, Frame& frame) const;
  /// Of what it computes with: PEFT makes fp32 of the weights beside quantised ones.
  ScalarType type() const;
  bool is_quantized() const;
  /// Whether a window hides something of so many keys, which other masks are made for. Throws
  /// BadInput where it was not recorded.
  bool is_beyond_window(std::int64_t keys) const;
  /// Of a task ("train", "prefill", "decode") as this run's types, attention and lengths have it.
  const Program& program_of(const std::string& task, std::int64_t keys, bool padded) const;
  void execute(const Instruction& instruction, Frame& frame) const;
  Tensor input(const std::string& name, const Frame& frame) const;
  void resize_state(const Instruction& instruction, Frame& frame) const;
  static Tensor& at(const Register& place, const Frame& frame);
  /// Throws BadInput where there is none.
  Tensor& made_at(const Register& place, const Frame& frame) const;
  /// Of a frame's parameter, in what is of places.
  template <typename Places>
  static auto& at(Places& all, const Operand& parameter, const Frame& frame);
  aten::Value value_of(const Operand& operand, const Frame& frame) const;
  /// The module whose call an instruction is, if it is one's.
  const Linear* linear_of(const Instruction& instruction, const Frame& frame) const;
  /// A layer as a program runs it. Throws BadInput where it has none of that kind.
  const Body& layer_of(const Program& program, std::int64_t layer) const;
  /// What a program returns there. Throws BadInput where it returns less.
  Tensor returned(const Program& program, std::size_t i, const Frame& frame) const;
  const std::string& kind_of(std::int64_t layer) const;
  std::string prefix_of(std::int64_t layer) const;

  const OpTape& tape_;
  ConfigKeys keys_;
  // Modules by their paths, in the order in which their parameters are made.
  struct Module {
    std::string path;
    std::optional<std::int64_t> layer;
    std::variant<Embedding, Linear, Norm> module;
  };
  std::deque<Module> modules_;
  std::deque<Tensor> buffers_;
  /// A parameter or a buffer, and whose it is.
  struct Place {
    Tensor* tensor = nullptr;
    const Linear* linear = nullptr;  ///< null: no such module's
  };
  OfPlaces<Place> places_;
  mutable std::vector<aten::Value> args_;  ///< room for those of the next op
};

}  // namespace vramfit::pytorch
