#include "runtimes/pytorch/transformers/taped/layer_kinds.h"

#include <algorithm>
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

/// What "<KEY" and "%KEY" have for each layer; nothing for other keys.
std::vector<std::string> counted(const ConfigKeys& keys, const std::string& key,
                                 std::size_t layers) {
  std::vector<std::string> list;
  const bool below = key.starts_with('<');
  if (!below && !key.starts_with('%')) return list;
  const std::int64_t number = keys(key.substr(1));
  if (!below && number < 1) throw BadInput(key.substr(1) + ": must be 1 or more");
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(layers); ++i) {
    list.emplace_back((below ? i < number : (i + 1) % number == 0) ? "1" : "0");
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
    std::vector<std::string> list = counted(keys, key, layers);
    if (list.empty()) list = keys.words(key);
    const auto cycle = tape.cycles.find(key);
    // Of a null window classes have another list.
    const bool has_windows =
        std::none_of(tape.windows.begin(), tape.windows.end(),
                     [&](const std::string& window) { return keys.is_null(window); });
    if (list.empty() && cycle != tape.cycles.end() && has_windows) {
      while (list.size() < layers)
        list.push_back(cycle->second[list.size() % cycle->second.size()]);
    }
    if (list.size() != layers) {
      throw BadInput(tape.model_type + ": its config has to name the kind of each of its " +
                     std::to_string(layers) + " layers, in " + key);
    }
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
