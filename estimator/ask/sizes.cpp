#include "estimator/ask/sizes.h"

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

std::uint64_t size_of(const std::string& flag, const std::string& size) {
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
