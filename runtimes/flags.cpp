#include "runtimes/flags.h"

#include "model/quantity.h"

namespace vramfit {

std::int64_t whole(const Flags& flags, const char* name, std::int64_t otherwise) {
  const std::optional<std::string> text = typed(flags, name);
  return text ? parse_whole(name, *text) : otherwise;
}

}  // namespace vramfit
