#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/memory/category.h"
#include "model/memory/driver_code.h"
#include "runtimes/expression.h"

// A script's run as `vramfit record` keeps it (docs/record.md): what it asked of PyTorch's
// allocator, in order, with sizes that are expressions of what the recording varied.
namespace vramfit::recorded {

/// What a script can be run with: --batch, --seq, or a name of its own.
struct Varied {
  std::string name;
  std::int64_t least = 0;     ///< that it was recorded or checked with
  std::int64_t most = 0;      ///< the same
  std::int64_t recorded = 0;  ///< the first it was recorded with
};

struct Act {
  enum class Kind : std::uint8_t {
    BeginStage,
    Allocate,
    Drop,  ///< the script lets go of a block that another stream still has
    Free,
    EmptyCache,
    Load,
  };
  /// Whose block it is.
  enum class Whose : std::uint8_t { ThisStep, PreviousStep, NumberedStep };

  Kind kind = Kind::Allocate;
  Stage stage{};        ///< BeginStage
  Category category{};  ///< Allocate
  DriverCode code{};    ///< Load
  Whose whose{};        ///< Drop, Free
  std::uint8_t stream = 0;
  std::uint32_t when = 0;   ///< which of the tape's conditions, from 1; 0: always
  std::uint32_t step = 0;   ///< NumberedStep
  std::uint32_t block = 0;  ///< which of its step's allocations
  std::uint32_t size = 0;   ///< Allocate: which of the tape's sizes
  std::uint64_t bytes = 0;  ///< Load
};

/// Step 0 is what came before the first.
struct Step {
  std::vector<Act> acts;
  std::uint32_t blocks = 0;  ///< allocations
};

/// A size, and where it first stands.
struct Size {
  Expression expression;
  std::size_t line = 0;
};

/// Something that is asked for above a bound alone, or up to it.
struct Condition {
  Expression expression;
  std::string text;  ///< of the expression
  bool above = true;
  std::int64_t bound = 0;
  std::int64_t low = 0;  ///< the bound is known to be no less than that, and less than `high`
  std::int64_t high = 0;
  std::size_t line = 0;
};

struct RunTape {
  std::string command;
  std::string made;  ///< "torch 2.11.0+cu130, transformers 5.17.0"
  std::string gpu;   ///< that it was recorded on, as fit calls it; empty: it has no name
  int sm = 0;        ///< of that card, 10 · major + minor
  std::vector<Varied> varied;
  std::string bounded;  ///< where it was checked and did not hold; empty: nowhere
  std::vector<Size> sizes;
  std::vector<Condition> conditions;
  std::vector<Step> steps;
  bool repeats = false;  ///< every further step is as the last

  /// Whether it has steps of an optimizer.
  bool trains() const;
};

/// Throws BadInput, which names the line.
RunTape read_run_tape(std::string_view text);
/// What is run, of the same text.
std::string command_of(std::string_view text);

}  // namespace vramfit::recorded
