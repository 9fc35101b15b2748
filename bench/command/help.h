#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace vramfit::bench {

/// What most people want to know, on one screen of 100 columns.
std::string short_help();

/// Every flag of bench.
std::string whole_help(const CLI::App& app);

}  // namespace vramfit::bench
