#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <tuple>
#include <vector>

namespace vramfit::python {

/// JSON from Python; throws BadInput where it is none.
nlohmann::json parsed(const std::string& text);

/// What a row of a sweep has beside its verdict, in bytes.
const std::vector<std::string>& columns();

/// "FITS", "TIGHT", "OOM", or "" where the point was refused; whether it fits, beyond doubt where
/// it was asked strictly; the figures of columns(); why it was refused.
using Row = std::tuple<std::string, bool, std::vector<std::int64_t>, std::string>;

/// One row for each of `points`, a JSON list of objects of flags, each beside `flags`, or of texts
/// that say why one was refused before. What a point is refused for is in its row. Throws BadInput
/// where they are no JSON.
std::vector<Row> rows(const std::string& flags, const std::string& points);

}  // namespace vramfit::python
