#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "estimator/ask/options.h"
#include "estimator/ask/spellings.h"
#include "model/errors.h"
#include "model/printable.h"

namespace vramfit {
namespace {

constexpr std::size_t kShownFlagBytes = 60;

/// What says how to print an answer, or asks for something else.
constexpr std::array<std::string_view, 10> kOfTheCommandLine = {
    "completion", "man",  "help",     "version", "list",
    "verbose",    "json", "snapshot", "trace",   "verify"};

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

/// Whether it is one of them, by whatever name.
bool is_among(const OwnFlags& given, const std::string& argument) {
  if (given.empty()) return false;
  const OwnFlags own = own_flags(std::vector{argument});
  return std::any_of(own.begin(), own.end(),
                     [&](const auto& flag) { return given.contains(flag.first); });
}

/// As a command line has them, with `more`, which go before them, at its end.
std::vector<std::string> arguments_of(const nlohmann::json& flags,
                                      const std::vector<std::string>& more) {
  if (!flags.is_object()) throw BadInput("flags: not a JSON object of flags and values");
  std::vector<std::string> arguments;
  const OwnFlags given = own_flags(more);
  for (const auto& [key, value] : flags.items()) {
    const std::string flag = flag_of(key);
    if (value.is_null()) continue;
    std::string argument = "--" + flag + "=" + text_of(flag, value);
    if (!is_among(given, argument)) arguments.push_back(std::move(argument));
  }
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

}  // namespace

OwnFlags own_flags(const std::vector<std::string>& arguments) {
  OwnFlags flags;
  std::string* value = nullptr;  // of the flag that the next word may belong to
  for (const std::string& argument : in_canonical_names(arguments).arguments) {
    if (!argument.starts_with("--")) {
      if (value != nullptr) *value = argument;
      value = nullptr;
      continue;
    }
    const std::size_t equals = argument.find('=');
    const bool alone = equals == std::string::npos;
    std::string& own = flags[argument.substr(2, alone ? equals : equals - 2)];
    own = alone ? "true" : argument.substr(equals + 1);
    value = alone ? &own : nullptr;
  }
  return flags;
}

OwnFlags own_flags(const nlohmann::json& flags, const std::vector<std::string>& more) {
  return own_flags(arguments_of(flags, more));
}

FitOptions options_of(const nlohmann::json& flags, const std::vector<std::string>& more) {
  const bool has_config =
      flags.is_object() && flags.contains("config") && flags.at("config").is_object();
  if (!has_config) return parse_options(arguments_of(flags, more));
  nlohmann::json others = flags;
  others.erase("config");
  others.erase("model");
  FitOptions options = parse_options(arguments_of(others, more));
  options.config_json = text_of("config", flags.at("config"));
  const auto name = flags.find("model");
  if (name != flags.end() && !name->is_null()) options.model = text_of("model", *name);
  return options;
}

}  // namespace vramfit
