#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "estimator/ask/ask.h"

namespace vramfit {

/// What is answered about llama.cpp to those arguments.
inline nlohmann::ordered_json told_of_llamacpp(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"--runtime", "llama.cpp"});
  return nlohmann::ordered_json::parse(ask(parse_options(arguments), {}).json());
}

}  // namespace vramfit
