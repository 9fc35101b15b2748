#include "bench/options.h"

#include <benchmark/benchmark.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "bench/list.h"
#include "model/errors.h"

namespace vramfit::bench {
namespace {

/// "a,b,c", each value in its one spelling, none twice.
std::vector<std::string> parse_list(Axis axis, const std::string& text) {
  std::vector<std::string> values;
  for (const std::string& value : split(text)) {
    if (value.empty()) {
      throw BadInput(std::string(info(axis).flag) + ": is '" + text +
                     "'; values with one comma between them");
    }
    const std::string spelled = canonical(axis, value);
    if (std::find(values.begin(), values.end(), spelled) == values.end()) values.push_back(spelled);
  }
  return values;
}

[[noreturn]] void print_help(const CLI::App& app) {
  std::cout << app.help() << "\nAll of Google Benchmark's flags work as well:\n" << std::flush;
  benchmark::PrintDefaultHelp();
  std::exit(0);
}

}  // namespace

Options parse_options(int argc, char** argv) {
  Options options;
  std::array<std::string, kAxes> lists;
  bool help = false;

  CLI::App app(
      "Holds what a transformer's memory is predicted to be against what it is measured to be.\n"
      "Without flags it runs data/sweep.json. A flag of an axis takes values with commas between\n"
      "them, which replace that axis in every family of the sweep that has it.",
      "bench");
  app.set_help_flag();
  app.add_flag("-h,--help", help, "this text");
  app.allow_extras();
  app.add_option("--sweep", options.sweep, "a sweep to run, in the form of data/sweep.json");
  app.add_option("--device", options.device,
                 "cuda, cpu, or virtual:NAME[,NAME] for predictions on cards of data/gpus.json;\n"
                 "by default cuda where a GPU answers, otherwise virtual:h200");
  app.add_option("--config", options.config,
                 "a Hugging Face config.json, instead of --model; named after its folder");
  for (std::size_t i = 0; i < kAxes; ++i) {
    app.add_option(std::string("--") + axes()[i].flag, lists[i], axes()[i].meaning)
        ->group("Axes of the sweep");
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    throw BadInput(error.what());
  }
  if (help) print_help(app);

  for (std::size_t i = 0; i < kAxes; ++i) {
    const auto axis = static_cast<Axis>(i);
    const bool given = app.count(std::string("--") + info(axis).flag) > 0;
    if (given) options.axes[i] = parse_list(axis, lists[i]);
  }
  if (options.config && !options.axes[index(Axis::Model)].empty()) {
    throw BadInput("config: contradicts --model; one of the two");
  }

  options.google = parse_google_flags(app.remaining());
  return options;
}

}  // namespace vramfit::bench
