#include "bench/process/row_runner.h"

#include <exception>
#include <iostream>
#include <stdexcept>

#include "bench/devices/launch.h"
#include "bench/process/child.h"
#include "bench/rows/ranks.h"

namespace vramfit::bench {

namespace {

/// The same command for each rank.
std::vector<Command> ranks_of(const Command& command, std::int64_t ranks) {
  const int port = free_port();
  std::vector<Command> commands;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    commands.push_back(command);
    commands.back().environment = environment_of_rank(rank, ranks, port);
  }
  return commands;
}

}  // namespace

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
    const Command command = this_program(arguments);
    // Who was started as one of several is to be that one; otherwise all are started here.
    const bool starts_ranks = c.ranks() > 1 && !launched();
    return starts_ranks ? of_ranks(ask_together(ranks_of(command, c.ranks()))) : ask(command);
  };
  try {
    return apart ? run_apart(c.row) : c.row.family->run(c, run_apart);
  } catch (const std::exception& error) {
    return failure(error.what());
  }
}

}  // namespace vramfit::bench
