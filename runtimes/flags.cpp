#include "runtimes/flags.h"

#include <algorithm>

#include "model/quantity.h"

namespace vramfit {

std::string json_key(std::string_view flag) {
  std::string key(flag);
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

std::int64_t whole(const Flags& flags, const char* name, std::int64_t otherwise) {
  const std::optional<std::string> text = typed(flags, name);
  return text ? parse_whole(name, *text) : otherwise;
}

}  // namespace vramfit
