#include "bench/rows/result.h"

#include <nlohmann/json.hpp>

#include "model/errors.h"

namespace vramfit::bench {

using Json = nlohmann::json;

Result failure(const std::string& why) {
  Result result;
  result.error = why;
  return result;
}

std::string to_line(const Result& result) {
  const Json json = {{"counters", result.counters.values()},
                     {"label", result.label},
                     {"seconds", result.seconds},
                     {"error", result.error}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result from_line(const std::string& line) { return from_json(Json::parse(line, nullptr, false)); }

Result from_json(const Json& json) {
  try {
    Result result;
    for (const auto& item : json.at("counters").items()) {
      result.counters.set(item.key(), item.value().get<double>());
    }
    result.label = json.at("label");
    result.seconds = json.at("seconds");
    result.error = json.at("error");
    return result;
  } catch (const Json::exception& error) {
    throw BadInput("no row's result: " + std::string(error.what()));
  }
}

}  // namespace vramfit::bench
