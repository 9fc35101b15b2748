#pragma once

#include <optional>
#include <string>

namespace vramfit::fit {

/// The command line as typed; what it means is question.h's business.
struct Options {
  std::optional<std::string> model;
  std::optional<std::string> config;
  std::optional<std::string> params;
  std::optional<std::string> hidden;
  std::optional<std::string> layers;

  bool train = false;
  std::optional<std::string> optimizer;
  std::optional<std::string> accumulate;
  std::optional<std::string> generate;
  std::optional<std::string> precision;
  std::optional<std::string> batch;
  std::optional<std::string> seq;
  std::optional<std::string> attention;
  std::optional<std::string> autocast;
  std::optional<std::string> checkpoint;
  std::optional<std::string> lora;
  std::optional<std::string> lora_targets;
  bool padded = false;
  std::optional<std::string> runtime;

  std::optional<std::string> gpu;
  std::optional<std::string> vram;
  std::optional<std::string> headroom;

  bool max_batch = false;
  bool max_seq = false;
  bool json = false;
  bool list = false;
};

/// Nothing where the command line asked for help or the version, which has been printed then.
/// Throws BadInput.
std::optional<Options> parse_options(int argc, const char* const* argv);

}  // namespace vramfit::fit
