#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
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
/// `card` is where it was measured.
Overhead assumed(Overhead overhead, const std::string& card);

/// Dense FLOP/s by format ("fp32" outside tensor cores, "tf32", "fp16", "bf16", "fp8", "int8", …).
/// A format that is absent, the card has no arithmetic for.
using Flops = std::map<std::string, double>;

/// What a card's driver tells of it beside what all of its compute capability have. Absent: nobody
/// knows.
struct Traits {
  std::optional<int> l2_bytes;
  std::optional<int> clock_khz;  ///< the highest that its multiprocessors run at
  std::optional<int> memory_bus_bits;
  std::optional<int> pci_device;
  std::optional<bool> ecc;  ///< on, as `vram` is listed
  bool integrated = false;  ///< its memory is the host's, too
};

/// A GPU of the catalogue: all that rules read of one.
struct Card {
  std::string name;                       ///< as flags spell it: "rtx4090"
  std::string title;                      ///< as the driver spells it
  std::vector<std::string> other_titles;  ///< of variants with the same facts
  std::vector<std::string> also;          ///< what people call it; of several sizes, one
  Platform platform = Platform::Cuda;     ///< where it is another, only its size is known
  Arch arch;
  int multiprocessors = 0;
  std::uint64_t vram = 0;  ///< bytes in all, as nvidia-smi counts them
  double bandwidth = 0;    ///< of its memory, bytes a second
  Flops flops;
  Traits traits;
  Overhead overhead;
  bool overhead_assumed = false;
  bool stands_for_sizes = false;  ///< where only a size is known, it may be taken for the card
  std::optional<double> article_vram_gb;  ///< the row of the article's table 3 it stands for
};

/// The cards of data/gpus.json, in its order. Throws BadInput.
const std::vector<Card>& cards();

/// Whether a card of that name is meant.
using IsName = std::function<bool(std::string_view name)>;

/// The one of them that is meant, read without the others, which takes a tenth of the time. Null:
/// none or several are, or the catalogue is not what is built in: then cards() tells.
const Card* card_whose_name(const IsName& is_name);

/// Those of data/other_gpus.json, which have no CUDA: Macs and AMD's. Throws BadInput.
const std::vector<Card>& other_cards();

/// The card that a driver calls `title`; of those that share the title, which come in several
/// sizes, the nearest in size. Null where there is none.
const Card* card_titled(std::string_view title, std::uint64_t vram);

/// The card to assume for a GPU that the catalogue lacks: the nearest in size of its compute
/// capability, or where there is none card_of_size().
const Card& card_like(Arch arch, std::uint64_t vram);

/// The card to assume where only a size is known: the nearest of those that stand for sizes.
const Card& card_of_size(std::uint64_t vram);

/// The same from a text. Every key is required or refused; `source` names the text in messages.
std::vector<Card> parse_cards(const std::string& json_text, const std::string& source);

/// An overhead as cards and profiles state it, each part with its source. Profiles need not know
/// what processes of runtimes take.
Overhead read_overhead(const JsonReader& json, const nlohmann::json& object);

/// Throws BadInput where `object`, which `json` reads, has any other key: a slip of the pen, and a
/// silent default.
void allow_only(const JsonReader& json, const nlohmann::json& object,
                std::initializer_list<const char*> keys);

/// Throws BadInput where `json` does not say where its figures are from.
void require_source(const JsonReader& json);

/// The object at `key`, which holds one figure at `value_key`, and its source.
JsonReader sourced(const JsonReader& json, const nlohmann::json& object, const char* key,
                   const char* value_key);

/// A compute capability as files spell it: "sm_90".
Arch read_arch(const JsonReader& json, const char* key);

/// Bytes that a pool may map on a card: what overhead and what is set aside leave, in whole units
/// of `granularity`.
std::uint64_t pool_capacity(std::uint64_t vram, const Overhead& overhead,
                            std::uint64_t set_aside = 0,
                            std::uint64_t granularity = Pool::kGranularity);

}  // namespace vramfit
