#include "model/printable.h"

#include <algorithm>
#include <array>

namespace vramfit {
namespace {

constexpr std::string_view kEllipsis = "…";

struct Range {
  char32_t first;
  char32_t last;
};

/// Controls; spaces other than ' '; marks of no width or of direction; line and paragraph
/// separators; tags and what selects a glyph's variant.
constexpr std::array<Range, 14> kUnprintable = {{{0x00, 0x1F},
                                                 {0x7F, 0xA0},
                                                 {0xAD, 0xAD},
                                                 {0x61C, 0x61C},
                                                 {0x1680, 0x1680},
                                                 {0x180B, 0x180F},
                                                 {0x2000, 0x200F},
                                                 {0x2028, 0x202F},
                                                 {0x205F, 0x206F},
                                                 {0x3000, 0x3000},
                                                 {0xFE00, 0xFE0F},
                                                 {0xFEFF, 0xFEFF},
                                                 {0xFFF9, 0xFFFB},
                                                 {0xE0000, 0xE01EF}}};

/// A character and the bytes it takes.
struct Character {
  char32_t code;
  std::size_t bytes;
  bool valid;
};

bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

/// The first character of `text`, which is not empty; of what is no UTF-8, one byte.
Character first_of(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  const Character none{lead, 1, false};
  if (lead < 0x80) return {lead, 1, true};
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return none;
  char32_t code = lead & (0xFFU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if (!continues(text[i])) return none;
    code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3FU);
  }
  constexpr std::array<char32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return code < kLeast[bytes] || code > 0x10FFFF || surrogate ? none : Character{code, bytes, true};
}

bool shows(const Character& character) {
  return character.valid &&
         std::none_of(kUnprintable.begin(), kUnprintable.end(), [&](const Range& range) {
           return character.code >= range.first && character.code <= range.last;
         });
}

/// As much of the front as `bytes` hold, in whole characters.
std::string_view front(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && continues(text[bytes])) --bytes;
  return text.substr(0, bytes);
}

std::string_view back(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  std::size_t start = text.size() - bytes;
  while (start < text.size() && continues(text[start])) ++start;
  return text.substr(start);
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Character character = first_of(text);
    if (shows(character)) {
      result += text.substr(0, character.bytes);
    } else {
      result += '?';
    }
    text.remove_prefix(character.bytes);
  }
  return result;
}

std::string shortened(std::string_view text, std::size_t bytes) {
  std::string result = printable(text);
  if (result.size() <= bytes) return result;
  return std::string(front(result, bytes - kEllipsis.size())).append(kEllipsis);
}

std::string one_line(std::string_view text, std::size_t bytes) {
  std::string result = printable(text);
  if (result.size() <= bytes) return result;
  const std::size_t half = (bytes - kEllipsis.size()) / 2;
  return std::string(front(result, half)).append(kEllipsis).append(back(result, half));
}

}  // namespace vramfit
