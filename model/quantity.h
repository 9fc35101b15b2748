#pragma once

#include <cstdint>
#include <string>

// Quantities as people write them. `field` names the flag or key in messages; every failure is a
// BadInput that says what would be valid.
namespace vramfit {

/// Bytes from "24GB" (1e9 a GB), "24GiB" (2^30 a GiB), "81559MiB", "1.5TB" or plain "24000000000";
/// units in either case, a space before them allowed. From 0 to 2^60.
std::uint64_t parse_bytes(const std::string& field, const std::string& text);

/// A count such as "7B", "6.74B", "350M" or "6738415616".
double parse_count(const std::string& field, const std::string& text);

/// "80,898,870,288", "-1,024".
std::string grouped(std::int64_t number);

/// A whole number, its limits checked where it is used.
std::int64_t parse_whole(const std::string& field, const std::string& text);

// The same within limits, which the message names.
std::int64_t parse_whole(const std::string& field, const std::string& text, std::int64_t at_least,
                         std::int64_t at_most);
double parse_number(const std::string& field, const std::string& text, double at_least,
                    double at_most);

}  // namespace vramfit
