#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace vramfit::bench {

/// What a sweep varies, in the order of a row's name.
enum class Axis : std::uint8_t {
  Model,
  Precision,
  Optimizer,
  Strategy,
  Batch,
  Seq,
  Gpus,
  Attention,
  Accumulate,
  Lora,
  LoraTargets,
  Generate,
  Gpu,
  Head,
  Cache,
  Block,
  Lengths,
  Checkpoint,
  CheckpointEvery,
};

inline constexpr std::size_t kAxes = 19;
constexpr std::size_t index(Axis axis) { return static_cast<std::size_t>(axis); }

struct AxisInfo {
  const char* flag;     ///< as flags, sweep files and messages spell it
  const char* key;      ///< before the value in a row's name; "" where the value stands alone
  const char* usual;    ///< the value that files need not state and names leave out; "" for none
  const char* meaning;  ///< for --help
};

/// In enum order.
const std::array<AxisInfo, kAxes>& axes();
const AxisInfo& info(Axis axis);

/// The one spelling of `value` ("04" is "4"). Throws BadInput that names the axis and what would be
/// valid. Models are looked up elsewhere, as a file may bring one.
std::string canonical(Axis axis, const std::string& value);

/// The one spelling of a card's size, which `flag` gives. Throws BadInput.
std::string canonical_size(const std::string& flag, const std::string& value);

/// The value of `head` that is not usual.
inline constexpr const char* kQuantizedHead = "quantized";

/// Whether a value of `gpu` names a card by its size: "24GB".
bool is_size(const std::string& gpu);

/// A size's value; throws BadInput that names the axis.
std::int64_t size_of(Axis axis, const std::string& value);

/// The values of each axis, in enum order; empty where nothing is said.
using AxisLists = std::array<std::vector<std::string>, kAxes>;

}  // namespace vramfit::bench
