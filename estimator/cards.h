#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/ops/arch.h"
#include "runtimes/pytorch/memory/libraries.h"

namespace vramfit {

class JsonReader;

/// What driver and libraries take of a card before a run allocates anything. Bytes.
struct Overhead {
  std::uint64_t driver_reserved = 0;  ///< nvidia-smi's total less cudaMemGetInfo's
  std::uint64_t context = 0;          ///< a bare CUDA context
  std::uint64_t libraries = 0;        ///< handles of cuBLASLt and cuDNN, code loaded as it is used
  std::string source;  ///< "measured …", or "assumed: …" where it is another card's
  pytorch::LibrarySizes pytorch = {};  ///< context and libraries where a process runs PyTorch

  std::uint64_t total() const { return driver_reserved + context + libraries; }
};

/// The same, for a card on which nobody measured it: its source says so.
Overhead assumed(Overhead overhead);

/// A GPU of the catalogue.
struct Card {
  std::string name;   ///< as flags spell it: "rtx4090"
  std::string title;  ///< as the driver spells it
  Arch arch;
  std::uint64_t vram = 0;  ///< bytes in all, as nvidia-smi counts them
  Overhead overhead;
  bool overhead_assumed = false;
  std::optional<double> article_vram_gb;  ///< the row of the article's table 3 it stands for
};

/// The cards of data/gpus.json, in its order. Throws BadInput.
const std::vector<Card>& cards();

/// Throws BadInput that lists the names where `name` is none of them.
const Card& card_named(std::string_view name);

/// The same from a text. Every key is required or refused; `source` names the text in messages.
std::vector<Card> parse_cards(const std::string& json_text, const std::string& source);

/// An overhead as cards and profiles state it, each part with its source.
Overhead read_overhead(const JsonReader& json, const nlohmann::json& object);

/// Throws BadInput where `object`, which `json` reads, has any other key: a slip of the pen, and a
/// silent default.
void allow_only(const JsonReader& json, const nlohmann::json& object,
                std::initializer_list<const char*> keys);

/// Bytes that a pool may map on a card: what overhead and headroom leave, in whole granules.
std::uint64_t pool_capacity(std::uint64_t vram, const Overhead& overhead,
                            std::uint64_t headroom = 0);

}  // namespace vramfit
