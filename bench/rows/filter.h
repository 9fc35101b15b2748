#pragma once

#include <regex>
#include <string>

namespace vramfit::bench {

/// --benchmark_filter, with Google Benchmark's meaning: an ECMAScript regular expression found
/// anywhere in a name; one that starts with '-' selects the others; "" and "all" select everything.
/// Ours, because Google Benchmark would match names with the "/iterations:1" that it adds.
class Filter {
 public:
  /// Throws BadInput.
  explicit Filter(const std::string& text);

  bool selects(const std::string& name) const;

 private:
  bool negative_ = false;
  bool all_ = false;
  std::regex expression_;
};

}  // namespace vramfit::bench
