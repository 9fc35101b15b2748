#include "runtimes/lora_flags.h"

#include <sstream>

#include "model/errors.h"
#include "model/quantity.h"

namespace vramfit {

std::optional<std::int64_t> lora_rank(const Flags& flags) {
  const auto rank = typed(flags, "lora");
  return rank ? std::optional(parse_whole("lora", *rank)) : std::nullopt;
}

std::vector<std::string> parse_lora_targets(const std::string& text,
                                            const std::vector<std::string>& every) {
  if (text == kEveryLinear) return every;
  std::vector<std::string> names;
  std::istringstream list(text + ",");
  for (std::string name; std::getline(list, name, ',');) {
    name.erase(0, name.find_first_not_of(' '));
    name.erase(name.find_last_not_of(' ') + 1);
    if (name.empty()) {
      throw BadInput("lora-targets: a name is missing; such as q_proj,v_proj, or all-linear");
    }
    names.push_back(name);
  }
  return names;
}

}  // namespace vramfit
