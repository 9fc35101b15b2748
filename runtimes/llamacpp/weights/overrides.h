#pragma once

#include <cstdint>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "runtimes/llamacpp/base/run_options.h"

namespace vramfit::llamacpp {

/// Where weights are told to go by name: -ot, --n-cpu-moe. Patterns are ECMAScript's, searched for
/// as std::regex_search does.
class Overrides {
 public:
  /// Throws BadInput on a pattern that is none, and on a buffer type that is neither the host's
  /// nor that of one of so many GPUs.
  Overrides(const Placement& placement, int gpus);

  static constexpr int kHost = -1;
  /// The GPU that a tensor goes to, or kHost; nothing where no pattern matches its name.
  std::optional<int> of(std::string_view name) const;

 private:
  /// Most patterns begin with a layer, as --fit writes them: what is behind it is the same for
  /// many, and is compiled once.
  struct Pattern {
    std::optional<std::int64_t> layer;
    std::size_t regex;  ///< in regexes_: of what is behind the layer, if it has one
    int target;
  };

  void add(const std::string& pattern, const std::string& buffer, int gpus);
  std::size_t compiled(const std::string& text, const std::string& pattern);

  std::vector<Pattern> patterns_;
  std::vector<std::string> texts_;
  std::vector<std::regex> regexes_;
  std::int64_t cpu_moe_layers_;
};

}  // namespace vramfit::llamacpp
