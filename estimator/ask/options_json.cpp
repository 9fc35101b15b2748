#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "estimator/ask/options.h"
#include "estimator/ask/spellings.h"
#include "model/errors.h"
#include "model/printable.h"

namespace vramfit {
namespace {

constexpr std::size_t kShownFlagBytes = 60;

/// What says how to print an answer, or asks for something else.
constexpr std::array<std::string_view, 8> kOfTheCommandLine = {
    "help", "version", "list", "verbose", "json", "snapshot", "trace", "verify"};

/// A key as flags are spelt; other names would be taken for more than one argument.
std::string flag_of(const std::string& key) {
  std::string flag = key;
  std::replace(flag.begin(), flag.end(), '_', '-');
  const bool valid =
      !flag.empty() && flag.front() != '-' && std::all_of(flag.begin(), flag.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '-';
      });
  if (!valid) throw BadInput("'" + one_line(key, kShownFlagBytes) + "' is no flag's name");
  const auto& others = kOfTheCommandLine;
  if (std::find(others.begin(), others.end(), flag) != others.end()) {
    throw BadInput(flag + ": is of the command line alone; without it");
  }
  return flag;
}

std::string text_of(const std::string& flag, const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_array()) {
    std::string list;
    for (const nlohmann::json& item : value) {
      if (item.is_structured()) throw BadInput(flag + ": a list of names or numbers");
      list += (list.empty() ? "" : ",") + text_of(flag, item);
    }
    return list;
  }
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Flags of a command line, by fit's own names.
std::set<std::string> own_names(const std::vector<std::string>& arguments) {
  std::set<std::string> names;
  for (const std::string& argument : in_own_names(arguments).arguments) {
    if (argument.starts_with("--")) names.insert(argument.substr(0, argument.find('=')));
  }
  return names;
}

/// Whether it is one of them, by whatever name.
bool is_among(const std::set<std::string>& names, const std::string& argument) {
  if (names.empty()) return false;
  const std::set<std::string> own = own_names({argument});
  return std::any_of(own.begin(), own.end(),
                     [&](const auto& name) { return names.contains(name); });
}

}  // namespace

Options options_of(const nlohmann::json& flags, const std::vector<std::string>& more) {
  if (!flags.is_object()) throw BadInput("flags: not a JSON object of flags and values");
  std::vector<std::string> arguments;
  const std::set<std::string> given = own_names(more);
  std::optional<std::string> config_json;
  std::optional<std::string> name;
  const bool has_config = flags.contains("config") && flags.at("config").is_object();
  for (const auto& [key, value] : flags.items()) {
    const std::string flag = flag_of(key);
    if (value.is_null()) continue;
    if (has_config && flag == "config") {
      config_json = text_of(flag, value);
    } else if (has_config && flag == "model") {
      name = text_of(flag, value);
    } else {
      std::string argument = "--" + flag + "=" + text_of(flag, value);
      if (!is_among(given, argument)) arguments.push_back(std::move(argument));
    }
  }
  arguments.insert(arguments.end(), more.begin(), more.end());
  Options options = parse_options(arguments);
  if (config_json) {
    options.config_json = std::move(config_json);
    options.model = std::move(name);
  }
  return options;
}

}  // namespace vramfit
