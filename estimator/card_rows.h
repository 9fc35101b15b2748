#pragma once

#include <string_view>
#include <vector>

namespace vramfit {

/// A card of a catalogue as its file has it.
struct CardRow {
  std::string_view name;
  std::string_view text;  ///< its JSON object
};

/// Rows of a catalogue, unread: reading all takes longer than an answer. `json`: an object with one
/// list, of objects that begin with their "name". None where it is something else, whose fault is
/// for who reads it whole to tell.
std::vector<CardRow> card_rows(std::string_view json);

}  // namespace vramfit
