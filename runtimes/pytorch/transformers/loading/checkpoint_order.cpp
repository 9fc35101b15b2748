#include "runtimes/pytorch/transformers/loading/checkpoint_order.h"

#include <algorithm>
#include <charconv>

namespace vramfit::pytorch {

CheckpointKey::CheckpointKey(std::string_view name) {
  for (std::size_t from = 0; from <= name.size();) {
    const std::size_t dot = std::min(name.find('.', from), name.size());
    parts_.push_back(part_of(name.substr(from, dot - from)));
    from = dot + 1;
  }
}

CheckpointKey::Part CheckpointKey::part_of(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789";
  const std::size_t last = text.find_last_not_of(kDigits);
  const std::size_t digits = last == std::string_view::npos ? 0 : last + 1;
  long number = -1;
  std::from_chars(text.data() + digits, text.data() + text.size(), number);
  return {digits > 0, text.substr(0, digits), number};
}

}  // namespace vramfit::pytorch
