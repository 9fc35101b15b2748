#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/config/json_reader.h"

namespace vramfit {

/// What is done with keys of a config.json. docs/config_keys.md is this table for people.
struct KeyRow {
  enum class Use : std::uint8_t {
    Read,     ///< by the family's reader
    Refused,  ///< where it is not as usual
    Noted,    ///< where it is not as usual
    Ignored,  ///< no memory depends on it
  };
  std::string_view keys;      ///< several with spaces between; a "*" in front or behind is any text
  std::string_view families;  ///< so; empty: every one
  Use use;
  std::string_view usual;  ///< as JSON has it; "null": that it is not there
  const char* what;        ///< what it is read as; why it is refused, noted or ignored
};

/// Of rows that hold for the same key, the first counts.
std::span<const KeyRow> config_keys();

/// Null where no row holds. An empty `family` meets rows of every family alone.
const KeyRow* find_row(std::string_view key, std::string_view family);

/// Throws BadInput on a key that is refused.
void refuse_keys(const JsonReader& json, std::string_view family);

/// A line for each key that is noted, and one for all that no row holds for.
std::vector<std::string> notes_on_keys(const JsonReader& json, std::string_view family);

}  // namespace vramfit
