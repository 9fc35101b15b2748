#include "model/format.h"

#include "model/checked.h"

namespace vramfit {
namespace {

constexpr bool plain_formats_stand_at_their_elements() {
  for (std::size_t row = 0; row < kFormats.size(); ++row) {
    if (kFormats[row].plain() && static_cast<std::size_t>(kFormats[row].element) != row) {
      return false;
    }
  }
  return true;
}
static_assert(plain_formats_stand_at_their_elements());

constexpr bool packed_formats_stand_last() {
  for (std::size_t row = kReadFormats; row < kFormats.size(); ++row) {
    if (!kFormats[row].packed()) return false;
  }
  return true;
}
static_assert(packed_formats_stand_last());

}  // namespace

std::uint64_t FormatRow::bytes(std::int64_t elements) const {
  const auto count = static_cast<std::uint64_t>(elements);
  if (packed())
    return checked_multiply(div_up(count, std::uint64_t{block}), std::uint64_t{packed_bytes});
  // Eight elements take whole bytes, however many bits each has.
  const std::uint64_t values =
      checked_multiply(count / 8, std::uint64_t{bits}) + (count % 8 * bits + 7) / 8;
  if (plain()) return values;
  const std::uint64_t blocks = round_up(count, std::uint64_t{block}) / block;
  const std::uint64_t of_block = Format(scale).row().bits + zero_bits;
  return values + (checked_multiply(blocks, of_block) + 7) / 8;
}

}  // namespace vramfit
