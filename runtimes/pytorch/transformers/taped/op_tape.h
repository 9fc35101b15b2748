#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "runtimes/expression.h"
#include "runtimes/pytorch/torch/aten/value.h"

// What a family's own code asks of PyTorch, op by op, as scripts/tapes records it: for any size.
namespace vramfit::pytorch {

/// Where a tensor is kept while a program runs.
struct Register {
  enum class Scope : std::uint8_t {
    Program,  ///< of the program, seen by layers too
    Layer,    ///< of the layer that runs
    Carried,  ///< handed over by the layer before this one, or by the program to the first
    State,    ///< what a cache holds of the layer, from forward to forward
    None,     ///< nowhere
  };
  Scope scope = Scope::Program;
  std::uint32_t number = 0;  ///< State: in OpTape::states
};

/// An argument of an op as a tape writes it.
struct Operand {
  enum class Kind : std::uint8_t {
    None,
    Register,
    Parameter,
    Size,
    Real,
    Bool,
    Type,
    ModelType,
    AutocastType,
    List,
  };
  Kind kind = Kind::None;
  Register tensor;
  std::string path;  ///< Parameter: its name, below the layer where that begins with a dot
  Expression size;
  double real = 0;
  bool flag = false;
  ScalarType type{};
  std::vector<Operand> list;
};

struct Instruction {
  enum class Kind : std::uint8_t {
    Op,
    Free,       ///< Python holds the results no more
    Parameter,  ///< a tensor becomes an nn.Parameter
    Bind,       ///< a tensor is a parameter or buffer of the model from now on: args[1] names it
    Layers,     ///< all layers run, handing on args[0]; the last one's is the result
    Give,       ///< what this layer hands on: hidden states, and what is but freed later
    Given,      ///< what this layer is called with, used or not: checkpointing keeps it
    Return,     ///< the loss, the logits
    Input,      ///< what generate() passes beside the tokens, by its name
    State,      ///< what the layer finds of args[0], and its sizes
    Keep,       ///< what it leaves there
    Autocast,   ///< is on from here on, or off, where the run has it on
    Grad,  ///< autograd notes what ops do from here on, or does not, where the run has it do so
    /// `body` args[0] times; what it makes, args[1] tensors from number args[2] on, is after each
    /// round where the round before had it.
    Repeat,
  };
  Kind kind = Kind::Op;
  aten::Op op = nullptr;
  std::string name;  ///< of the op
  std::vector<Operand> args;
  std::vector<Register> results;
  std::vector<Instruction> body;  ///< of Repeat
};

using Body = std::vector<Instruction>;

/// Every register that a body names.
void each_register(std::span<const Instruction> body,
                   const std::function<void(const Register&)>& see);
/// As many as it has of a scope.
std::size_t registers_in(const Body& body, Register::Scope scope);

struct Program {
  Body main;
  std::map<std::string, Body> layers;  ///< by kind
};

/// An nn.Parameter or buffer by its name, or a parameter that is never trained, which is as one;
/// below a layer where it begins with a dot.
struct NamedTensor {
  std::string path;
  bool is_buffer = false;
  std::string tied_to;  ///< where tie_word_embeddings is set
};

constexpr std::string_view kEmbedding = "embedding.default";

struct OpTape {
  std::string model_type;
  std::string layers_key;                      ///< of the config: how many layers
  std::string layers_path;                     ///< "model.layers"
  std::map<std::string, Expression> defaults;  ///< of keys that a config leaves out
  std::string attention;  ///< that transformers takes where none is asked for: "sdpa"
  /// How a layer's kind is told: "A", one for all; "by KEY VALUE=A …", by what its place has in the
  /// config's list, or in several, "KEY,KEY" and "VALUE,VALUE"; "below KEY A B", the first so many
  /// and the rest; "every KEY A B", each so-manieth is B. Beside lists, "<KEY" has 1 for the first
  /// so many, and "%KEY" for each so-manieth, else 0.
  std::vector<std::string> kinds;
  // Parameters and buffers, in the order of their names: before all layers, of a layer by its
  // kind, behind them.
  std::vector<NamedTensor> before;
  std::map<std::string, std::vector<NamedTensor>> of_layer;
  std::vector<NamedTensor> behind;
  /// Keys of the config that change what the code does, as they were: true, false, a word, and of a
  /// chance 0 or 1.
  struct Flag {
    std::string recorded;
    std::string usual;  ///< that the config's class has
  };
  std::map<std::string, Flag> flags;
  /// What a key of the config was as it was recorded, where no size says it: another key, a number,
  /// a fraction, or nothing: a power of two.
  using Held = std::variant<std::monostate, Expression, double>;
  std::vector<std::pair<std::string, Held>> holds;
  std::map<std::string, std::string> aliases;  ///< other names of a config's keys: theirs
  /// Of lists of a config, where they are left out, what they repeat.
  std::map<std::string, std::vector<std::string>> cycles;
  bool has_fp16 = true;     ///< its code does not ask for that type, and do other things then
  bool checkpoints = true;  ///< transformers has activation checkpointing for the type
  std::vector<std::string> lora_targets;    ///< that PEFT has for the type
  std::vector<std::string> no_targets;      ///< linears by their names that LoRA adapts none of
  std::vector<std::string> expert_targets;  ///< of LoRA, for which PEFT adapts experts, too
  std::vector<std::string> windows;         ///< keys of the config that say how far attention sees
  std::vector<std::string> states;          ///< names of what a cache holds of a layer
  std::map<std::string, Program> programs;

  /// Linears of its layers, by the last part of their names.
  std::vector<std::string> projections() const;
  /// The weight that tokens are looked up in, which a forward does first.
  std::string embedding() const;
};

/// Throws BadInput where it is none, naming the line.
OpTape read_op_tape(std::string_view text);

}  // namespace vramfit::pytorch
