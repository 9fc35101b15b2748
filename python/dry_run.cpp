#include "python/dry_run.h"

#include <nlohmann/json.hpp>

#include "estimator/dry_run/dry_run.h"
#include "estimator/fit/dry_run_text.h"
#include "estimator/fit/terminal.h"

namespace vramfit::python {

std::string dry_run_verdict(const std::string& run) {
  return verdict_json(judged(read_dry_run(run))).dump();
}

std::string dry_run_text(const std::string& run, std::size_t top) {
  return fit::dry_run_text(read_dry_run(run), top, fit::shows_colours());
}

}  // namespace vramfit::python
