#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace vramfit {

/// What a tensor is for. Every allocated byte belongs to exactly one category.
enum class Category : std::uint8_t {
  Parameters,
  Gradients,
  OptimizerState,
  Activations,
  KvCache,
  Workspace,
  Inputs,
  Communication,
};

inline constexpr std::size_t kCategories = 8;

/// Category names as JSON, counters and flags spell them, in enum order.
inline constexpr std::array<const char*, kCategories> kCategoryNames = {
    "parameters", "gradients", "optimizer_state", "activations",
    "kv_cache",   "workspace", "inputs",          "communication"};

constexpr const char* name(Category category) {
  return kCategoryNames[static_cast<std::size_t>(category)];
}

/// Bytes of each category, in enum order.
class CategoryBytes {
 public:
  constexpr std::uint64_t& operator[](Category c) { return bytes_[static_cast<std::size_t>(c)]; }
  constexpr std::uint64_t operator[](Category c) const {
    return bytes_[static_cast<std::size_t>(c)];
  }
  constexpr std::uint64_t total() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t b : bytes_) sum += b;
    return sum;
  }

 private:
  std::array<std::uint64_t, kCategories> bytes_{};
};

/// Where in a run an allocation falls. `Outside` is before the first and between stages.
enum class Stage : std::uint8_t {
  Outside,
  Loaded,
  Forward,
  Backward,
  Optimizer,
  ZeroGrad,
  Prefill,
  Decode,
  Compile,  ///< a compiler at work in the midst of another, and the buffers that it tries kernels
            ///< on
  Profile,  ///< from here on a serving engine's, of which no ledger tells: it runs once to see
            ///< what it takes,
  KvCache,  ///< makes its cache of what is left,
  WarmUp,   ///< captures its graphs and compiles its kernels,
  Serve,    ///< serves,
  Sample,   ///< and samples, other than by the likeliest token;
  Sleep,    ///< gives its memory back,
  WakeUp,   ///< and takes it again
};

inline constexpr std::array kStageNames = {
    "outside", "loaded",  "forward",  "backward", "optimizer", "zero_grad", "prefill", "decode",
    "compile", "profile", "kv_cache", "warm_up",  "serve",     "sample",    "sleep",   "wake_up"};

/// Those that ledgers have.
inline constexpr std::span kLedgerStageNames =
    std::span(kStageNames).first<static_cast<std::size_t>(Stage::Profile)>();

constexpr const char* name(Stage stage) { return kStageNames[static_cast<std::size_t>(stage)]; }

}  // namespace vramfit
