#include "runtimes/pytorch/transformers/taped/layer_kinds.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "model/errors.h"

namespace vramfit::pytorch {
namespace {

std::vector<std::string> parts_between_commas(std::string_view text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// What the config or its class says of each layer.
std::vector<std::string> listed(const OpTape& tape, const ConfigKeys& keys, const std::string& key,
                                std::size_t layers) {
  std::vector<std::string> list = keys.words(key);
  const auto cycle = tape.cycles.find(key);
  // Of a null window classes have another list.
  const bool has_windows =
      std::none_of(tape.windows.begin(), tape.windows.end(),
                   [&](const std::string& window) { return keys.is_null(window); });
  if (list.empty() && cycle != tape.cycles.end() && has_windows) {
    while (list.size() < layers) list.push_back(cycle->second[list.size() % cycle->second.size()]);
  }
  if (list.size() != layers) {
    throw BadInput(tape.model_type + ": its config has to name the kind of each of its " +
                   std::to_string(layers) + " layers, in " + key);
  }
  return list;
}

/// What a key with a sign before it says of each layer: "<KEY" is 1 of the first so many, "%KEY" of
/// each so-manieth, ">KEY" of the last so many, "^KEY" of the last of each kind before those;
/// "+KEY" of those whose number in the list is above 0.
std::vector<std::string> counted(const OpTape& tape, const ConfigKeys& keys, const std::string& key,
                                 std::size_t layers) {
  const char sign = key.front();
  if (sign == '+') {
    std::vector<std::string> list = listed(tape, keys, key.substr(1), layers);
    for (std::string& each : list) {
      char* end = nullptr;
      const double number = std::strtod(each.c_str(), &end);
      if (*end != 0) throw BadInput(key.substr(1) + ": has '" + each + "'; a number a layer");
      each = number > 0 ? "1" : "0";
    }
    return list;
  }
  constexpr std::string_view kSigns = "<%>^";
  if (kSigns.find(sign) == std::string_view::npos) return listed(tape, keys, key, layers);
  const std::int64_t number = keys(key.substr(1));
  if (sign == '%' && number < 1) throw BadInput(key.substr(1) + ": must be 1 or more");
  const auto count = static_cast<std::int64_t>(layers);
  std::map<std::string, std::int64_t> last;
  if (sign == '^') {
    const std::vector<std::string> kinds = listed(tape, keys, "layer_types", layers);
    for (std::int64_t i = 0; i < count - number; ++i) last[kinds[static_cast<std::size_t>(i)]] = i;
  }
  std::vector<std::string> list;
  for (std::int64_t i = 0; i < count; ++i) {
    const bool is_last =
        std::any_of(last.begin(), last.end(), [i](const auto& kind) { return kind.second == i; });
    const bool is_so = sign == '<'   ? i < number
                       : sign == '%' ? (i + 1) % number == 0
                       : sign == '>' ? i >= count - number
                                     : is_last;
    list.emplace_back(is_so ? "1" : "0");
  }
  return list;
}

/// "by KEY[,KEY] VALUE[,VALUE]=A …"
std::vector<std::string> by_lists(const OpTape& tape, const ConfigKeys& keys, std::size_t layers) {
  std::map<std::string, std::string> kind_of;
  for (std::size_t i = 2; i < tape.kinds.size(); ++i) {
    const std::string& row = tape.kinds[i];
    const std::size_t sign = row.rfind('=');
    if (sign == std::string::npos) throw BadInput("tape: '" + row + "' tells of no kind");
    kind_of[row.substr(0, sign)] = row.substr(sign + 1);
  }
  std::vector<std::string> values(layers);
  for (const std::string& key : parts_between_commas(tape.kinds.at(1))) {
    if (key.empty()) throw BadInput("tape: a key without a name");
    const std::vector<std::string> list = counted(tape, keys, key, layers);
    for (std::size_t i = 0; i < layers; ++i) values[i] += (values[i].empty() ? "" : ",") + list[i];
  }
  std::vector<std::string> kinds;
  for (const std::string& value : values) {
    const auto found = kind_of.find(value);
    if (found == kind_of.end()) {
      throw BadInput(tape.model_type + ": layers of '" + value + "' were not recorded");
    }
    kinds.push_back(found->second);
  }
  return kinds;
}

}  // namespace

std::vector<std::string> layer_kinds(const OpTape& tape, const ConfigKeys& keys,
                                     std::int64_t layers) {
  const auto count = static_cast<std::size_t>(std::max<std::int64_t>(layers, 0));
  if (tape.kinds.empty()) throw BadInput("tape: it does not say of which kind a layer is");
  if (tape.kinds.front() == "by") return by_lists(tape, keys, count);
  const bool every = tape.kinds.front() == "every";
  if (!every && tape.kinds.front() != "below")
    return std::vector<std::string>(count, tape.kinds.front());
  const std::int64_t number = keys(tape.kinds.at(1));
  if (every && number < 1) throw BadInput(tape.kinds[1] + ": must be 1 or more");
  std::vector<std::string> kinds;
  for (std::int64_t i = 0; i < layers; ++i) {
    const bool second = every ? (i + 1) % number == 0 : i >= number;
    kinds.push_back(tape.kinds.at(second ? 3 : 2));
  }
  return kinds;
}

}  // namespace vramfit::pytorch
