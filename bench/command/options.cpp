#include "bench/command/options.h"

#include <benchmark/benchmark.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "bench/command/help.h"
#include "bench/command/paths.h"
#include "bench/rows/list.h"
#include "estimator/files/atomic_file.h"
#include "estimator/version.h"
#include "model/errors.h"
#include "model/quantity.h"

namespace vramfit::bench {
namespace {

constexpr double kMostSpeedSeconds = 3600;

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

void print_help(const CLI::App& app, const std::string& topic) {
  if (topic.empty()) {
    std::cout << short_help();
    return;
  }
  if (topic != "all") throw BadInput("help: is '" + topic + "'; all, or nothing");
  std::cout << whole_help(app) << "\nAll of Google Benchmark's flags work as well:\n" << std::flush;
  benchmark::PrintDefaultHelp();
}

std::string speed_seconds(const std::string& text) {
  parse_number("speed-seconds", text, 0, kMostSpeedSeconds);
  return "";  // CLI11's word for valid
}

void add_measuring_options(CLI::App& app, BenchOptions& options) {
  const char* group = "Measuring";
  app.add_option("--speed-seconds", options.measuring.speed_seconds,
                 "to spend on timing each kind of step of a row; 0: memory only")
      ->capture_default_str()
      ->check(speed_seconds)
      ->take_last()
      ->group(group);
  app.add_flag("--tf32", options.measuring.tf32, "fp32 GEMMs with 10 bits of mantissa")
      ->group(group);
  app.add_option("--gemm-algorithms", options.measuring.gemm_algorithms,
                 "a file that keeps which GEMM algorithms were fastest for the next run")
      ->group(group);
  app.add_flag("--shared-gpu", options.measuring.shared_gpu,
               "measure even though others have memory of the GPU")
      ->group(group);
  app.add_option("--profile", options.profile,
                 "what driver and libraries take, from a file that --write-profile wrote")
      ->group(group);
  app.add_option("--write-profile", options.write_profile,
                 "writes what the rows Overhead/… measure; by default into data/gpus")
      ->expected(0, 1)
      ->group(group);
  app.add_option("--journal", options.journal,
                 "a file that keeps each measured row as it is done; by default beside\n"
                 "--benchmark_out, with .journal appended")
      ->group(group);
  app.add_option("--ledgers", options.ledgers,
                 "a folder that keeps each row's ledger, for build/compare")
      ->group(group);
  app.add_option("--snapshot", options.snapshot,
                 "of one row: its run as a memory snapshot, which PyTorch's memory_viz opens")
      ->group(group);
  app.add_option("--trace", options.trace, "of one row: its run over time, for Perfetto")
      ->group(group);
  app.add_flag("--resume", options.resume,
               "takes from the journal what was measured under the same conditions")
      ->group(group);
  app.add_flag("--article-printout", options.article_printout,
               "prints each training row's first step as the article's code would")
      ->group(group);
  app.add_option("--row", options.row)->group("");
}

/// `--vram` is `--gpu` for sizes alone.
std::vector<std::string> parse_sizes(const std::string& text) {
  std::vector<std::string> sizes;
  for (const std::string& size : split(text)) sizes.push_back(canonical_size("vram", size));
  return sizes;
}

}  // namespace

BenchOptions parse_options(int argc, char** argv) {
  BenchOptions options;
  std::array<std::string, kAxes> lists;
  std::optional<std::string> help;

  CLI::App app(
      "Holds what a transformer's memory is predicted to be against what it is measured to be.\n"
      "Without flags it runs data/sweep.json. A flag of an axis takes values with commas between\n"
      "them, which replace that axis in every family of the sweep that has it.",
      "bench");
  app.set_help_flag();
  app.add_option("-h,--help", help, "a screen; --help all: this text")->expected(0, 1);
  app.set_version_flag("--version", kVersionLine, "version and commit");
  app.allow_extras();
  app.add_option("--sweep", options.sweep, "a sweep to run, in the form of data/sweep.json");
  app.add_option(
      "--device", options.device,
      "cuda, cuda:INDEX for a GPU other than the first, cpu, or virtual:NAME[,NAME] for\n"
      "predictions on cards of data/gpus.json; by default cuda where a GPU answers, otherwise\n"
      "virtual:h200");
  app.add_option("--config", options.config,
                 "a Hugging Face config.json, instead of --model; named after its folder");
  std::string vram;
  auto* vram_option = app.add_option("--vram", vram, "--gpu, for sizes such as 24GB");
  add_measuring_options(app, options);
  for (std::size_t i = 0; i < kAxes; ++i) {
    app.add_option(std::string("--") + axes()[i].flag, lists[i], axes()[i].meaning)
        ->group("Axes of the sweep");
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForVersion& version) {
    std::cout << version.what() << "\n";
    options.answered = true;
    return options;
  } catch (const CLI::ParseError& error) {
    throw BadInput(error.what());
  }
  if (help) {
    print_help(app, *help);
    options.answered = true;
    return options;
  }

  for (std::size_t i = 0; i < kAxes; ++i) {
    const auto axis = static_cast<Axis>(i);
    const bool given = app.count(std::string("--") + info(axis).flag) > 0;
    if (given) options.axes[i] = parse_list(axis, lists[i]);
  }
  if (vram_option->count() > 0) {
    auto& cards = options.axes[index(Axis::Gpu)];
    for (const std::string& size : parse_sizes(vram)) cards.push_back(size);
  }
  if (options.config && !options.axes[index(Axis::Model)].empty()) {
    throw BadInput("config: contradicts --model; one of the two");
  }

  options.google = parse_google_flags(app.remaining());
  const std::string& out = options.google.out;
  if (options.journal.empty() && !out.empty() && !is_written_through(out)) {
    options.journal = out + ".journal";
  }
  if (options.resume && options.journal.empty()) {
    throw BadInput("resume: from which journal; --journal or --benchmark_out with it");
  }
  if (options.article_printout && options.google.format != "console") {
    throw BadInput("article-printout: is for people; without --benchmark_format");
  }
  require_distinct_files(options);
  return options;
}

std::vector<std::string> arguments_for_rows(const BenchOptions& options) {
  std::vector<std::string> arguments;
  const auto add = [&](const char* flag, const std::string& value) {
    if (!value.empty()) arguments.push_back(std::string("--") + flag + "=" + value);
  };
  add("device", options.device);
  add("config", options.config.value_or(""));
  add("profile", options.profile.value_or(""));
  add("speed-seconds", std::to_string(options.measuring.speed_seconds));
  add("gemm-algorithms", options.measuring.gemm_algorithms);
  add("ledgers", options.ledgers);
  if (options.measuring.tf32) arguments.emplace_back("--tf32");
  if (options.measuring.shared_gpu) arguments.emplace_back("--shared-gpu");
  return arguments;
}

}  // namespace vramfit::bench
