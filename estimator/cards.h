#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/memory/pool.h"
#include "runtimes/gpu.h"

namespace vramfit {

class JsonReader;

/// The overhead of a card on which nobody measured it: its source says so.
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

/// Bytes that a pool may map on a card: what overhead and headroom leave, in whole units of
/// `granularity`.
std::uint64_t pool_capacity(std::uint64_t vram, const Overhead& overhead,
                            std::uint64_t headroom = 0,
                            std::uint64_t granularity = Pool::kGranularity);

}  // namespace vramfit
