#include "model/quantity.h"

#include <array>
#include <cctype>
#include <charconv>
#include <locale>
#include <optional>
#include <sstream>
#include <system_error>

#include "model/errors.h"
#include "model/printable.h"

namespace vramfit {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 60;
constexpr std::size_t kMostDecimals = 6;
constexpr std::size_t kShownQuantityBytes = 40;

struct Unit {
  const char* name;  ///< lower case
  std::uint64_t size;
};

constexpr std::array<Unit, 10> kByteUnits = {{{"", 1},
                                              {"b", 1},
                                              {"kb", 1'000},
                                              {"mb", 1'000'000},
                                              {"gb", 1'000'000'000},
                                              {"tb", 1'000'000'000'000},
                                              {"kib", std::uint64_t{1} << 10},
                                              {"mib", std::uint64_t{1} << 20},
                                              {"gib", std::uint64_t{1} << 30},
                                              {"tib", std::uint64_t{1} << 40}}};

constexpr std::array<Unit, 5> kCountUnits = {
    {{"", 1}, {"k", 1'000}, {"m", 1'000'000}, {"b", 1'000'000'000}, {"t", 1'000'000'000'000}}};

[[noreturn]] void fail(const std::string& field, const std::string& text,
                       const std::string& valid) {
  throw BadInput(field + ": is '" + shortened(text, kShownQuantityBytes) + "'; " + valid);
}

/// "12.5 GiB" taken apart: digits before and after the point, and the unit in lower case.
struct Parts {
  std::string whole;
  std::string decimals;
  std::string unit;
};

Parts take_apart(const std::string& text) {
  static constexpr const char* kDigits = "0123456789";
  Parts parts;
  std::size_t at = text.find_first_not_of(kDigits);
  parts.whole = text.substr(0, at);
  if (at != std::string::npos && text[at] == '.') {
    const std::size_t start = at + 1;
    at = text.find_first_not_of(kDigits, start);
    parts.decimals = text.substr(start, at == std::string::npos ? at : at - start);
    // A point wants digits on both sides.
    if (parts.decimals.empty()) parts.whole.clear();
  }
  if (at != std::string::npos && text[at] == ' ') ++at;
  for (; at < text.size(); ++at) {
    parts.unit += static_cast<char>(std::tolower(static_cast<unsigned char>(text[at])));
  }
  return parts;
}

template <std::size_t N>
const Unit* find(const std::array<Unit, N>& units, const std::string& name) {
  for (const Unit& unit : units) {
    if (name == unit.name) return &unit;
  }
  return nullptr;
}

/// The number that all of `text` is; nothing where it is none or out of its type's range.
std::optional<std::int64_t> whole_in(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// The same with a fraction, whatever the locale. By a stream: LLVM's library reads none by
/// std::from_chars.
std::optional<double> real_in(const std::string& text) {
  std::istringstream stream(text);
  stream.imbue(std::locale::classic());
  double value = 0;
  stream >> std::noskipws >> value;
  const bool all = !stream.fail() && stream.peek() == std::istringstream::traits_type::eof();
  return all ? std::optional(value) : std::nullopt;
}

/// A limit as messages have it: "3600".
std::string short_text(double limit) {
  std::ostringstream stream;
  stream.imbue(std::locale::classic());
  stream << limit;
  return stream.str();
}

/// Digits as a number; false where it does not fit.
bool read(const std::string& digits, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc() && end == digits.data() + digits.size();
}

}  // namespace

std::uint64_t parse_bytes(const std::string& field, const std::string& text) {
  const char* const valid = "a size such as 24GB (1e9 bytes each), 24GiB, 81559MiB or plain bytes";
  const Parts parts = take_apart(text);
  const Unit* unit = find(kByteUnits, parts.unit);
  if (parts.whole.empty() || unit == nullptr) fail(field, text, valid);
  if (unit->size == 1 && !parts.decimals.empty()) fail(field, text, "bytes come whole");
  if (parts.decimals.size() > kMostDecimals) fail(field, text, "at most six decimals");
  std::uint64_t whole = 0;
  std::uint64_t part = 0;
  std::uint64_t scale = 1;
  const bool read_whole = read(parts.whole, whole) && whole <= kMostBytes / unit->size;
  if (!parts.decimals.empty()) read(parts.decimals, part);
  for (std::size_t i = 0; i < parts.decimals.size(); ++i) scale *= 10;
  // No product wraps: 10^6 · 2^40 is below 2^60, and so is whole · unit.
  const std::uint64_t bytes = whole * unit->size + part * unit->size / scale;
  if (!read_whole || bytes > kMostBytes) fail(field, text, "at most 1152921504606846976, 2^60");
  return bytes;
}

std::string grouped(std::int64_t number) {
  std::string text = std::to_string(number);
  const std::size_t first = number < 0 ? 1 : 0;
  for (std::size_t at = text.size(); at > first + 3;) {
    at -= 3;
    text.insert(at, 1, ',');
  }
  return text;
}

double parse_count(const std::string& field, const std::string& text) {
  const char* const valid = "a count such as 7B, 6.74B, 350M or 6738415616";
  const Parts parts = take_apart(text);
  const Unit* unit = find(kCountUnits, parts.unit);
  const bool short_enough = parts.whole.size() + parts.decimals.size() <= 18;
  if (parts.whole.empty() || !short_enough || unit == nullptr) fail(field, text, valid);
  const std::string decimal =
      parts.decimals.empty() ? parts.whole : parts.whole + "." + parts.decimals;
  const double count = std::stod(decimal) * static_cast<double>(unit->size);
  if (!(count >= 1)) fail(field, text, valid);
  return count;
}

std::int64_t parse_whole(const std::string& field, const std::string& text) {
  const std::optional<std::int64_t> value = whole_in(text);
  if (!value) fail(field, text, "a whole number");
  return *value;
}

std::int64_t parse_whole(const std::string& field, const std::string& text, std::int64_t at_least,
                         std::int64_t at_most) {
  const std::optional<std::int64_t> value = whole_in(text);
  if (value && *value >= at_least && *value <= at_most) return *value;
  fail(field, text,
       "a whole number from " + std::to_string(at_least) + " to " + std::to_string(at_most));
}

double parse_number(const std::string& field, const std::string& text, double at_least,
                    double at_most) {
  const std::optional<double> value = real_in(text);
  if (value && *value >= at_least && *value <= at_most) return *value;  // NaN is neither
  fail(field, text, "a number from " + short_text(at_least) + " to " + short_text(at_most));
}

}  // namespace vramfit
