#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
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
  std::string path;         ///< Parameter: its name, below the layer where that begins with a dot
  std::uint32_t place = 0;  ///< Parameter: in OpTape::places
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
    Given,      ///< what this layer is called with by names, used or not: checkpointing keeps it
    Passed,     ///< or by places, beside hidden states: checkpointing saves it
    Return,     ///< the loss, the logits
    Input,      ///< what generate() passes beside the tokens, by its name
    State,      ///< what the layer finds of args[0], and its sizes
    Keep,       ///< what it leaves there
    Autocast,   ///< is on from here on, or off, where the run has it on
    Grad,  ///< autograd notes what ops do from here on, or does not, where the run has it do so
    /// `body` args[0] times; what it makes, args[1] tensors from number args[2] on, is after each
    /// round where the round before had it.
    Repeat,
    /// Of a torch.autograd.Function of the model's own, which made args[0]: `body` makes of its
    /// gradient, args[1], those of args[2], which are args[4]. It keeps args[3].
    Gradient,
  };
  Kind kind = Kind::Op;
  aten::Op op = nullptr;
  std::string name;  ///< of the op
  std::vector<Operand> args;
  std::vector<Register> results;
  std::vector<Instruction> body;  ///< of Repeat and Gradient
  bool is_linear = false;         ///< the call of a module that multiplies by its weight
  // Of the module that tokens are looked up in.
  bool begins_embedding = false;
  bool ends_embedding = false;
  bool makes_tied = false;  ///< a weight of its own, whose place another's takes
};

/// Every register that they name.
void each_register(std::span<const Instruction> steps,
                   const std::function<void(const Register&)>& see);

struct Body {
  Body() = default;
  explicit Body(std::vector<Instruction> steps_);

  std::vector<Instruction> steps;
  // How many registers of a scope it has, and those of the program that it names.
  std::size_t of_program = 0;
  std::size_t of_layer = 0;
  std::size_t carried = 0;
  std::vector<std::uint32_t> shared;
  std::vector<std::uint32_t> passed;  ///< those of them that Passed names
  std::vector<std::uint32_t> made;    ///< those of them that it makes, and is not given
};

struct Program {
  Body main;
  std::map<std::string, Body> layers;  ///< by kind
};

/// A line of a tape, and where it stands.
struct TapeLine {
  int number = 0;
  std::string_view text;
};

/// A part of a program as it is written down; lines of others, which it is from, are among its own.
struct WrittenPart {
  std::string name;
  int begin = 0;  ///< where it stands: lines before it are others'
  std::vector<TapeLine> lines;
};

struct WrittenProgram {
  WrittenPart main;
  std::map<std::string, WrittenPart> layers;  ///< by kind
};

/// Names of what a cache holds of a layer.
using States = std::vector<std::string>;

/// An nn.Parameter or buffer by its name, or a parameter that is never trained, which is as one;
/// below a layer where it begins with a dot.
struct NamedTensor {
  std::string path;
  std::uint32_t place = 0;  ///< in OpTape::places
  bool is_buffer = false;
  std::string tied_to;  ///< where tie_word_embeddings is set
};

struct OpTape {
  std::string model_type;
  std::vector<std::string> variants;           ///< whose tapes are asked before it: "TYPE.NAME"
  std::string layers_key;                      ///< of the config: how many layers
  std::string layers_path;                     ///< "model.layers"
  std::map<std::string, Expression> defaults;  ///< of keys that a config leaves out
  /// What null is taken for. Nothing: it was null as it was recorded.
  std::map<std::string, std::optional<Expression>> nulls;
  std::string attention;  ///< that transformers takes where none is asked for: "sdpa"
  /// How a layer's kind is told: "A", one for all; "by KEY VALUE=A …", by what its place has in the
  /// config's list, or in several, "KEY,KEY" and "VALUE,VALUE"; "below KEY A B", the first so many
  /// and the rest; "every KEY A B", each so-manieth is B. Beside lists, "<KEY" has 1 for the first
  /// so many, "%KEY" for each so-manieth, ">KEY" for the last so many, "^KEY" for the last of each
  /// kind of layer_types before those, and "+KEY" where the list's number is above 0, else 0.
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
  std::map<std::string, std::int64_t> above;   ///< keys that had more than that, of other code
  std::map<std::string, std::string> aliases;  ///< other names of a config's keys: theirs
  /// Of lists of a config, where they are left out, what they repeat.
  std::map<std::string, std::vector<std::string>> cycles;
  /// The module that tokens are looked up in multiplies what it finds.
  bool scales_embedding = false;
  bool has_fp16 = true;          ///< its code does not ask for that type, and do other things then
  bool checkpoints = true;       ///< transformers has activation checkpointing for the type
  bool reenters = true;          ///< its layers take and give hidden states alone
  bool reenters_eagerly = true;  ///< with eager attention, too
  std::vector<std::string> lora_targets;    ///< that PEFT has for the type
  std::vector<std::string> no_targets;      ///< linears by their names that LoRA adapts none of
  std::vector<std::string> expert_targets;  ///< of LoRA, for which PEFT adapts experts, too
  std::vector<std::string> tuple_targets;   ///< linears that give more than a tensor
  std::vector<std::string> windows;         ///< keys of the config that say how far attention sees
  States states;
  std::unique_ptr<const std::string> text;  ///< what lines are of
  std::map<std::string, WrittenProgram> written;

  /// Numbers for the names of parameters, those of layers with a dot before them.
  std::unordered_map<std::string, std::uint32_t> places;

  // Paths of training's weights as they first come, those of layers with a dot before them.
  std::vector<std::string> linears;
  std::vector<std::string> embeddings;

  /// Linears of its layers, by the last part of their names.
  std::vector<std::string> projections() const;
  /// What training multiplies by, or looks rows up in, by a parameter's path.
  bool multiplies_by(const std::string& path) const;
  bool looks_up_in(const std::string& path) const;
  /// Whether a linear, by its weight's path, gives more than a tensor, for which PEFT raises.
  bool gives_tuple(const std::string& path) const;
  void number_parameters();  ///< in `places`
  /// What training says of its modules: `linears`, `embeddings`.
  void find_modules();

  /// Null: it has none of that name. Each is read when it is first asked for. Throws BadInput where
  /// it is none, naming the line, or the parameter that there is not.
  const Program* program(const std::string& name) const;

 private:
  void prepare(const std::string& name, Program& program) const;

  struct Read {
    std::mutex mutex;
    std::map<std::string, Program> programs;
  };
  std::unique_ptr<Read> read_ = std::make_unique<Read>();
};

/// All but its programs' instructions. Throws BadInput where it is none, naming the line.
OpTape read_op_tape(std::string text);

}  // namespace vramfit::pytorch
