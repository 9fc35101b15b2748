#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/ops/arch.h"

namespace vramfit {

/// What driver and libraries take of a card in a runtime's process, part by part. Bytes:
/// constants of a card, driver and release. A row of data/gpus.json; which parts there are, the
/// runtime says (Capabilities::measured_parts).
struct RuntimeOverhead {
  std::string runtime;  ///< as --runtime spells it
  std::string release;  ///< of its libraries; empty where it has none
  std::map<std::string, std::uint64_t, std::less<>> parts;

  /// Throws BadInput where nobody measured that part.
  std::uint64_t operator[](std::string_view part) const;
};

/// How far a card's overhead may lie from another card's, which it is assumed to have. `driver`: of
/// driver_reserved, in bytes; `beside`: of context and libraries, as shares of them.
struct OverheadDoubt {
  std::uint64_t driver_less = 0;
  std::uint64_t driver_more = 0;
  double beside_less = 0;
  double beside_more = 0;
  int reports = 0;  ///< of this card that say so; 0: those of other cards
};

/// What driver and libraries take of a card beside what a run reserves. Bytes.
struct Overhead {
  std::uint64_t driver_reserved = 0;  ///< nvidia-smi's total less cudaMemGetInfo's
  std::uint64_t context = 0;          ///< a bare CUDA context
  std::uint64_t libraries = 0;        ///< handles of cuBLASLt and cuDNN, code loaded as it is used
  std::string source;             ///< "measured …", or "assumed: …" where it is another card's
  std::uint64_t range = 0;        ///< what it may be off by, either way, where it was measured
  std::string assumed_from = {};  ///< the card it was measured on, "NVIDIA H200"; empty: this one
  std::optional<OverheadDoubt> doubt = {};  ///< where it is another card's, if anybody tells
  /// Of each runtime where it was measured; shared, as cards are copied into every question. Null:
  /// of none.
  std::shared_ptr<const std::vector<RuntimeOverhead>> runtimes = {};

  /// That runtime's in that release, or where nobody measured that, in the last that is listed;
  /// null: in none.
  const RuntimeOverhead* of(std::string_view runtime, std::string_view release = {}) const;

  std::uint64_t total() const { return driver_reserved + context + libraries; }
};

/// What programs reach a card by.
enum class Platform : std::uint8_t { Cuda, Rocm, Metal };
const char* name(Platform platform);    ///< for people: "ROCm"
const char* key_of(Platform platform);  ///< as files spell it: "rocm"

/// What a card tells the rules of a runtime.
struct Gpu {
  Arch arch;
  int multiprocessors = 0;
  Overhead overhead;
  Platform platform = Platform::Cuda;
  std::uint64_t room = 0;  ///< what of it is a run's, its overhead within. Bytes
  std::uint64_t vram = 0;  ///< all of it, as nvidia-smi lists it. Bytes
  std::uint64_t l2_bytes = 0;
  std::string title = {};  ///< as its driver spells it
  /// Where cards of several kinds are in one machine: all of them, in its order.
  std::vector<Gpu> machine = {};
};

}  // namespace vramfit
