#include "runtimes/pytorch/loading/checkpoint_order.h"

#include <algorithm>
#include <charconv>
#include <tuple>
#include <vector>

namespace vramfit::pytorch {
namespace {

/// Whether it is text, the text, and the number behind it or -1.
using Part = std::tuple<bool, std::string_view, long>;

Part part_of(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789";
  const std::size_t last = text.find_last_not_of(kDigits);
  const std::size_t digits = last == std::string_view::npos ? 0 : last + 1;
  long number = -1;
  std::from_chars(text.data() + digits, text.data() + text.size(), number);
  return {digits > 0, text.substr(0, digits), number};
}

std::vector<Part> parts_of(std::string_view name) {
  std::vector<Part> parts;
  for (std::size_t from = 0; from <= name.size();) {
    const std::size_t dot = std::min(name.find('.', from), name.size());
    parts.push_back(part_of(name.substr(from, dot - from)));
    from = dot + 1;
  }
  return parts;
}

}  // namespace

bool comes_before(std::string_view a, std::string_view b) { return parts_of(a) < parts_of(b); }

}  // namespace vramfit::pytorch
