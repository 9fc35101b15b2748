#include "bench/compare/tolerances.h"

#include <nlohmann/json.hpp>

#include "estimator/data.h"
#include "model/config/json_reader.h"

namespace vramfit::bench::compare {

Tolerances read_tolerances() {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  const char* const file = "tolerances.json";
  const nlohmann::json object =
      parse_json_object(data_text(file), file, "what repeated runs differ by");
  const JsonReader json(object, file);
  return {static_cast<std::uint64_t>(json.integer("reserved_bytes", 0, kMost)),
          static_cast<std::uint64_t>(json.integer("device_used_bytes", 0, kMost)),
          json.text("source")};
}

}  // namespace vramfit::bench::compare
