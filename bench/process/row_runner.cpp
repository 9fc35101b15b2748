#include "bench/process/row_runner.h"

#include <exception>
#include <iostream>
#include <stdexcept>

#include "bench/process/child.h"

namespace vramfit::bench {

Result RowRunner::run(const Case& c, const Conditions& conditions) {
  if (c.device == nullptr) return c.row.family->run(c, {});
  const std::string name = c.row.name();
  progress_.begin(name);
  if (const Result* known = journal_.find(name, conditions)) {
    progress_.end(true);
    return *known;
  }
  Result result = measure(c);
  keep(name, conditions, result);
  progress_.end(false);
  return result;
}

void RowRunner::keep(const std::string& row, const Conditions& conditions, const Result& result) {
  try {
    journal_.add(row, conditions, result);
  } catch (const std::runtime_error& error) {
    if (!journal_failed_) std::cerr << "bench: error: journal: " << error.what() << "\n";
    journal_failed_ = true;
  }
}

Result RowRunner::measure(const Case& c) const {
  const bool apart = c.row.family->apart;
  const RunApart run_apart = [&](const Row& row) {
    std::vector<std::string> arguments = arguments_;
    if (!apart) arguments.emplace_back("--speed-seconds=0");  // a search asks whether it fits
    arguments.push_back("--row=" + row.name());
    return ask(this_program(arguments));
  };
  try {
    return apart ? run_apart(c.row) : c.row.family->run(c, run_apart);
  } catch (const std::exception& error) {
    return failure(error.what());
  }
}

}  // namespace vramfit::bench
