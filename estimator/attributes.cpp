#include "estimator/attributes.h"

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "estimator/data.h"
#include "model/config/json_reader.h"
#include "model/errors.h"

namespace vramfit {
namespace {

constexpr std::int64_t kAttributesSchema = 1;
constexpr std::int64_t kMaxNumber = 1023;
constexpr int kNvidiaVendor = 0x10de;

/// `json`'s object at `key` as values by the attributes' numbers.
Attributes read_values(const JsonReader& json, const nlohmann::json& object,
                       const std::map<std::string, int>& numbers) {
  const auto entry = json.object("values");
  if (!entry) json.fail("values", "missing");
  Attributes values;
  for (const auto& item : object.at("values").items()) {
    const char* const name = item.key().c_str();
    const auto number = numbers.find(item.key());
    if (number == numbers.end()) entry->fail(name, "no attribute of `numbers`");
    values[number->second] = static_cast<int>(
        entry->integer(name, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
  }
  return values;
}

/// Attributes by name, some of them replaced.
class Overlay {
 public:
  Overlay(const AttributeData& data, Attributes values) : data_(data), values_(std::move(values)) {}

  void set(const Attributes& values) {
    for (const auto& [number, value] : values) values_[number] = value;
  }
  void set(const char* name, int value) { values_[data_.numbers.at(name)] = value; }
  int get(const char* name) const { return values_.at(data_.numbers.at(name)); }
  /// Where it is known; `what` is remembered where it is not.
  void set(const char* name, const std::optional<int>& value, const char* what) {
    if (value) {
      set(name, *value);
    } else {
      unknown_ += (unknown_.empty() ? "" : ", ") + std::string(what);
    }
  }

  const Attributes& values() const { return values_; }
  const std::string& unknown() const { return unknown_; }

 private:
  const AttributeData& data_;
  Attributes values_;
  std::string unknown_;
};

const AttributeData& attribute_data() {
  static const AttributeData data =
      parse_attributes(data_text("attributes.json"), "attributes.json");
  return data;
}

/// Memory moves two bits a clock and line.
std::optional<int> memory_clock_khz(const Budget& gpu) {
  if (!gpu.traits.memory_bus_bits) return std::nullopt;
  const double bytes_per_clock = 2.0 * *gpu.traits.memory_bus_bits / 8;
  return static_cast<int>(gpu.bandwidth / bytes_per_clock / 1e3);
}

void set_traits(const Budget& gpu, Overlay& overlay) {
  const Traits& traits = gpu.traits;
  const double persisting_part = static_cast<double>(overlay.get("max_persisting_l2_cache_size")) /
                                 overlay.get("l2_cache_size");
  overlay.set("l2_cache_size", traits.l2_bytes, "L2");
  const bool persists = overlay.get("max_access_policy_window_size") > 0;
  overlay.set("max_persisting_l2_cache_size",
              persists ? static_cast<int>(persisting_part * overlay.get("l2_cache_size")) : 0);
  overlay.set("clock_rate", traits.clock_khz, "clock");
  overlay.set("global_memory_bus_width", traits.memory_bus_bits, "memory bus");
  overlay.set("memory_clock_rate", memory_clock_khz(gpu), "memory clock");
  overlay.set("ecc_enabled", traits.ecc, "ECC");
  overlay.set("integrated", traits.integrated ? 1 : 0);
  const std::optional<int> device = traits.pci_device;
  overlay.set("gpu_pci_device_id",
              device ? std::optional(static_cast<int>(static_cast<unsigned>(*device) << 16U |
                                                      static_cast<unsigned>(kNvidiaVendor)))
                     : std::nullopt,
              "PCI id");
  overlay.set("gpu_pci_subsystem_id", 0);
}

}  // namespace

AttributeData parse_attributes(const std::string& json_text, const std::string& source) {
  const nlohmann::json object = parse_json_object(json_text, source, "the attributes of GPUs");
  const JsonReader json(object, source);
  allow_only(json, object, {"schema", "numbers", "told", "archs"});
  json.integer("schema", kAttributesSchema, kAttributesSchema);
  AttributeData data;
  const auto numbers = json.object("numbers");
  if (!numbers) json.fail("numbers", "missing");
  for (const auto& item : object.at("numbers").items()) {
    const char* const name = item.key().c_str();
    data.numbers[item.key()] = static_cast<int>(numbers->integer(name, 1, kMaxNumber));
  }

  const auto told = json.object("told");
  if (!told) json.fail("told", "missing");
  allow_only(*told, object.at("told"), {"card", "source", "values"});
  require_source(*told);
  data.card = told->text("card");
  data.told = read_values(*told, object.at("told"), data.numbers);
  for (const auto& [name, number] : data.numbers) {
    if (data.told.count(number) == 0) told->fail("values", "has no '" + name + "'");
  }

  const auto archs = object.find("archs");
  if (archs == object.end() || !archs->is_array()) json.fail("archs", "a list is missing");
  for (const nlohmann::json& entry : *archs) {
    const std::string place = source + ": arch " + std::to_string(data.archs.size() + 1);
    if (!entry.is_object()) throw BadInput(place + ": not a JSON object");
    const JsonReader arch(entry, place);
    allow_only(arch, entry, {"arch", "source", "values"});
    require_source(arch);
    const int sm = read_arch(arch, "arch").sm;
    if (!data.archs.emplace(sm, read_values(arch, entry, data.numbers)).second) {
      arch.fail("arch", "is there twice");
    }
  }
  return data;
}

KnownAttributes attributes_of(const Budget& gpu) {
  const AttributeData& data = attribute_data();
  if (gpu.gpu == data.card) return {data.told, {}};
  Overlay overlay(data, data.told);
  KnownAttributes known;
  const std::string as_told = "as the " + data.card + "'s driver told them";
  const std::string arch = "sm_" + std::to_string(gpu.arch.sm);
  if (const auto of_arch = data.archs.find(gpu.arch.sm); of_arch != data.archs.end()) {
    overlay.set(of_arch->second);
    known.notes.push_back("the card's attributes are what is published of " + arch + ", the rest " +
                          as_told);
  } else {
    known.notes.push_back("nothing is known of the attributes of " + arch + ": all " + as_told);
  }
  constexpr int kMinors = 10;
  overlay.set("compute_capability_major", gpu.arch.sm / kMinors);
  overlay.set("compute_capability_minor", gpu.arch.sm % kMinors);
  overlay.set("multiprocessor_count", gpu.multiprocessors);
  set_traits(gpu, overlay);
  if (!overlay.unknown().empty()) {
    known.notes.push_back("unknown of this card, and " + as_told + ": " + overlay.unknown());
  }
  known.values = overlay.values();
  return known;
}

}  // namespace vramfit
