#include "bench/rows/filter.h"

#include "model/errors.h"

namespace vramfit::bench {

Filter::Filter(const std::string& text) : all_(text.empty() || text == "all") {
  if (all_) return;
  negative_ = text.front() == '-';
  try {
    expression_.assign(negative_ ? text.substr(1) : text, std::regex::ECMAScript);
  } catch (const std::regex_error& error) {
    throw BadInput("benchmark_filter: '" + text + "' is no regular expression: " + error.what());
  }
}

bool Filter::selects(const std::string& name) const {
  return all_ || std::regex_search(name, expression_) != negative_;
}

}  // namespace vramfit::bench
