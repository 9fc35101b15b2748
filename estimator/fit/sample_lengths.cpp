#include "estimator/fit/sample_lengths.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "model/errors.h"
#include "model/transformer/sizes.h"

namespace vramfit::fit {
namespace {

using Json = nlohmann::json;

std::optional<std::int64_t> length_of(const Json& value) {
  if (value.is_array()) return static_cast<std::int64_t>(value.size());
  if (value.is_number_unsigned()) return value.get<std::int64_t>();
  if (!value.is_object()) return std::nullopt;
  for (const char* key : {"input_ids", "length", "num_tokens"}) {
    const auto found = value.find(key);
    if (found != value.end() && !found->is_object()) return length_of(*found);
  }
  return std::nullopt;
}

}  // namespace

SampleLengths sample_lengths_on_disk(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw BadInput("lengths: '" + path + "' cannot be read; a .jsonl of samples");
  SampleLengths lengths;
  for (std::string line; std::getline(file, line);) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    ++lengths.samples;
    const Json value = Json::parse(line, nullptr, false);
    const std::optional<std::int64_t> length =
        value.is_discarded() ? std::nullopt : length_of(value);
    if (!length || *length < 1 || *length > kMaxSeq) {
      throw BadInput(
          "lengths: sample " + std::to_string(lengths.samples) +
          " has no number of tokens; a JSON value a line: a number, a list of tokens, or "
          "an object with input_ids, length or num_tokens");
    }
    lengths.longest = std::max(lengths.longest, *length);
  }
  if (lengths.samples == 0) throw BadInput("lengths: '" + path + "' holds no sample");
  return lengths;
}

}  // namespace vramfit::fit
