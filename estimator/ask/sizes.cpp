#include "estimator/ask/sizes.h"

#include <algorithm>
#include <cctype>

#include "model/errors.h"
#include "model/quantity.h"

namespace vramfit {
namespace {

constexpr std::size_t kBareDigits = 3;          ///< before the point
constexpr std::uint64_t kLeastGpu = 1'000'000;  ///< bytes; what is smaller was meant otherwise

}  // namespace

bool is_bare(const std::string& size) {
  const std::size_t digits = size.find_first_not_of("0123456789");
  if (digits == 0 || size.empty()) return false;
  const std::size_t whole = digits == std::string::npos ? size.size() : digits;
  if (whole > kBareDigits) return false;
  return digits == std::string::npos ||
         (size[digits] == '.' &&
          size.find_first_not_of("0123456789", digits + 1) == std::string::npos);
}

bool is_short(const std::string& size) {
  const bool ends = size.ends_with("G") || size.ends_with("g");
  return ends && is_bare(size.substr(0, size.find_last_not_of("Gg ") + 1));
}

std::optional<std::uint64_t> sold_as(const std::string& text) {
  const std::size_t digits = text.find_first_not_of("0123456789.");
  if (digits == 0 || digits == std::string::npos || !is_bare(text.substr(0, digits))) {
    return std::nullopt;
  }
  std::string unit = text.substr(text[digits] == ' ' ? digits + 1 : digits);
  std::transform(unit.begin(), unit.end(), unit.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (unit != "g" && unit != "gb" && unit != "gib") return std::nullopt;
  return parse_bytes("gpu", text.substr(0, digits) + "GiB");
}

std::uint64_t size_of(const std::string& flag, const std::string& size) {
  if (is_short(size)) return parse_bytes(flag, size + "iB");
  return parse_bytes(flag, is_bare(size) ? size + "GB" : size);
}

std::uint64_t vram_of(const std::string& size) {
  const std::uint64_t bytes = size_of("vram", size);
  if (bytes >= kLeastGpu) return bytes;
  if (bytes == 0) throw BadInput("vram: is 0; the size of a GPU such as 24GiB");
  throw BadInput("vram: '" + size + "' is " + std::to_string(bytes) +
                 " bytes; with its unit, as in 24GiB or 24564MiB");
}

}  // namespace vramfit
