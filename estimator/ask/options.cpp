#include "estimator/ask/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <vector>

#include "estimator/ask/help.h"
#include "estimator/ask/spellings.h"
#include "estimator/ask/words.h"
#include "estimator/names.h"
#include "estimator/runtimes.h"
#include "model/errors.h"

namespace vramfit {
namespace {

constexpr const char* kDescription =
    "Will it fit? Runs the training or inference step on paper and says how much GPU memory it "
    "needs.";

constexpr const char* kFooter =
    "Sizes are 24GiB, 24GB (1e9 bytes each; without a unit, 24 is the same), 24564MiB or bytes. A\n"
    "GPU's size is what it has in all, as nvidia-smi shows it; what driver and libraries take is\n"
    "added to the run's need. FITS and OOM: by more than figures may be off by; TIGHT: by less.\n"
    "Without --gpu and --vram: this machine's first GPU, else every card there is data on.\n"
    "Exit status: 0 it fits (on at least one card), 1 it does not, 2 bad input, 3 anything else. "
    "A\n"
    "search: 0 where a size may fit. With --strict only what surely fits counts. With --verify: 0\n"
    "both agree, 1 they part.\n"
    "\n"
    "  vramfit --model llama2-7b --train --precision fp16 --batch 4 --seq 512 --gpu rtx4090\n"
    "  vramfit --model llama3-8b --batch 8 --seq 8192 --vram 80GB\n"
    "  vramfit --params 3B --train --checkpoint full --max-batch --gpu a100-40gb\n"
    "\n"
    "transformers' and PEFT's names of flags are taken too, and '_' for '-':\n";

constexpr const char* kRun = "What it does";

void add_model_options(CLI::App& app, FitOptions& options) {
  const char* group = "Which model";
  app.add_option("--model", options.model,
                 "One of --list, a checkpoint's folder, or its Hugging Face id")
      ->group(group);
  app.add_option("--config", options.config, "A Hugging Face config.json, or its folder")
      ->group(group);
  app.add_option("--gguf", options.gguf, "A GGUF file, split or not, under --runtime llama.cpp")
      ->group(group);
  app.add_option("--tape", options.tape, "Instead: a script's run, as vramfit record kept it")
      ->group(group);
  app.add_option("--params", options.params, "A llama-shaped model of this size: 7B, 350M")
      ->group(group);
  app.add_option("--hidden", options.hidden, "Its width, with --params")->group(group);
  app.add_option("--layers", options.layers, "Its depth, with --params")->group(group);
}

/// What --help says of a setting: each runtime in its own words, or once where they agree.
std::string help_of(const std::string& name) {
  std::string text;
  std::string last;
  for (const Runtime* runtime : runtimes()) {
    const Setting* setting = find(runtime->settings(), name);
    if (setting == nullptr || setting->help.empty() || setting->help == last) continue;
    last = setting->help;
    text += (text.empty() ? "" : ";\nunder " + std::string(runtime->name()) + ": ") + last;
  }
  return text;
}

const char* condition(Setting::With with) {
  switch (with) {
    case Setting::With::Training:
      return "With --train: ";
    case Setting::With::Inference:
      return "Inference: ";
    case Setting::With::Either:
      break;
  }
  return "";
}

/// Settings of one runtime stand together, apart from those that others have as well.
std::string group_of(const std::string& setting) {
  std::vector<std::string> names;
  for (const Runtime* runtime : runtimes()) {
    if (runtime->knows(setting)) names.emplace_back(runtime->name());
  }
  return names.size() == 1 ? "Under --runtime " + names.front() + " alone" : kRun;
}

/// The settings of all runtimes, each once.
void add_settings(CLI::App& app, FitOptions& options) {
  std::set<std::string> added;
  for (const Runtime* runtime : runtimes()) {
    for (const Setting& setting : runtime->settings()) {
      const std::string name = setting.name;
      if (!added.insert(name).second) continue;
      const std::string help = condition(setting.with) + help_of(name);
      const auto set = [&options, name](const std::string& text) { options.flags[name] = text; };
      CLI::Option* option = setting.takes == Setting::Takes::Nothing
                                ? app.add_flag_callback(
                                      "--" + name, [set] { set(""); }, help)
                                : app.add_option_function<std::string>("--" + name, set, help);
      option->group(group_of(name));
    }
  }
}

void add_run_options(CLI::App& app, FitOptions& options) {
  app.add_flag("--train", options.train, "Training instead of inference")->group(kRun);
  std::string names;
  for (const Runtime* runtime : runtimes()) {
    names += (names.empty() ? "" : ", ") + std::string(runtime->name());
  }
  app.add_option("--runtime", options.runtime, "Whose memory: " + names + "; the first if not said")
      ->group(kRun);
  add_settings(app, options);
}

void add_gpu_options(CLI::App& app, FitOptions& options) {
  const char* group = "On which GPU";
  app.add_option("--gpu", options.gpu,
                 "One of --list; several of other kinds under --runtime llama.cpp: rtx4090,rtx3060")
      ->group(group);
  app.add_option("--vram", options.vram, "Its size; with --gpu, that card as if it had this size")
      ->group(group);
  app.add_option("--headroom", options.headroom, "To be left free (default 0)")->group(group);
}

void add_answer_options(CLI::App& app, FitOptions& options) {
  const char* group = "Which answer";
  for (const SearchAxis& axis : all_axes()) {
    const std::string name(axis.name);
    app.add_flag_callback(
           "--max-" + name, [&options, name] { options.searches.push_back(name); },
           std::string(axis.help))
        ->group(group);
  }
  app.add_flag("--beyond-positions", options.beyond_positions, "With --max-seq: further than that")
      ->group(group);
  app.add_flag("--formulas", options.formulas, "Beside it, what formulas that people use would say")
      ->group(group);
  app.add_flag("--advise", options.advise, "Of what does not fit, every change that makes it fit")
      ->group(group);
  app.add_flag("--strict", options.strict, "TIGHT counts as OOM in the exit status")->group(group);
  app.add_flag("--verbose", options.verbose, "Also stages, steps and sources")->group(group);
  app.add_flag("--json", options.json, "One JSON object; sizes in bytes")->group(group);
  app.add_option("--snapshot", options.snapshot,
                 "Also the run as PyTorch's memory snapshot, a file for pytorch.org/memory_viz")
      ->group(group);
  app.add_option("--trace", options.trace,
                 "Also the run as a Chrome trace, a file for ui.perfetto.dev")
      ->group(group);
  app.add_option("--verify", options.verify,
                 "Instead: a snapshot that PyTorch recorded of such a run, beside the prediction")
      ->group(group);
  app.add_flag("--list", options.list, "The models and cards there are")->group(group);
  app.add_option("--completion", options.completion,
                 "What makes a shell complete flags: bash, zsh or fish")
      ->group(group);
  app.add_flag("--man", options.man, "The manual page, for man -l -")->group(group);
}

/// What the app did not expect, with the flags that are close to it.
std::string unexpected(const CLI::App& app) {
  const std::vector<std::string> extras = app.remaining();
  const auto flag = std::find_if(extras.begin(), extras.end(),
                                 [](const std::string& text) { return text.starts_with("-"); });
  const std::string name = flag->substr(0, flag->find('='));
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) flags.push_back(option->get_name());
  const std::string close = did_you_mean(name, flags);
  return "unknown flag '" + name + "'" + (close.empty() ? "; vramfit --help lists them" : close);
}

std::string in_our_words(const CLI::ParseError& error) {
  std::string message = error.what();
  const std::size_t end = message.find(": At Most 1 required");
  if (end == std::string::npos) return message;
  return message.substr(0, end) + ": given more than once, perhaps by another name";
}

/// Reads command lines, one after the other.
class CommandLineParser {
 public:
  CommandLineParser() {
    app_.allow_extras();
    app_.footer(std::string(kFooter) + other_names());
    app_.get_formatter()->column_width(24);
    app_.set_version_flag("--version", "", "Version and commit");
    add_model_options(app_, options_);
    add_run_options(app_, options_);
    add_gpu_options(app_, options_);
    add_answer_options(app_, options_);
    // CLI11 takes the next flag for a value where none was given.
    for (CLI::Option* option : app_.get_options()) {
      if (option->get_items_expected_max() == 0) continue;
      option->check([](const std::string& value) {
        return value.starts_with("--") ? "no value before '" + value + "'" : std::string();
      });
    }
  }
  CommandLineParser(const CommandLineParser&) = delete;  // its options point into it
  CommandLineParser& operator=(const CommandLineParser&) = delete;

  FitOptions parse(const std::vector<std::string>& typed) {
    options_ = {};
    CommandLine line = in_canonical_names(typed);
    options_.typed = std::move(line.typed);
    options_.passed_over = std::move(line.passed_over);
    options_.notes = std::move(line.notes);
    options_.of_a_trainer = line.of_a_trainer;
    std::vector<std::string>& arguments = line.arguments;
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 takes them
    try {
      app_.parse(std::move(arguments));
    } catch (const CLI::CallForHelp&) {
      const bool all = std::find(typed.begin(), typed.end(), "all") != typed.end();
      options_.help = all ? app_.help() : short_help();
    } catch (const CLI::CallForVersion&) {
      options_.version = true;
    } catch (const CLI::ParseError& error) {
      throw BadInput(as_typed(in_our_words(error), options_.typed) +
                     "; vramfit --help says what is valid");
    }
    place_words();
    if (options_.list && typed.size() > 1) {
      throw BadInput("--list: stands alone; no other flags beside it");
    }
    return std::move(options_);
  }

  std::vector<FlagHelp> flags() const {
    std::vector<FlagHelp> list;
    for (const CLI::Option* option : app_.get_options()) {
      list.push_back({option->get_name(), option->get_description(), option->get_group(),
                      option->get_items_expected_max() > 0});
    }
    return list;
  }

 private:
  /// What belongs to no flag: a model and a card, "qwen3-4b 4090".
  void place_words() {
    const std::vector<std::string> words = app_.remaining();
    const bool flags = std::any_of(words.begin(), words.end(), [](const std::string& word) {
      return word.starts_with("-") && word.size() > 1;
    });
    if (flags) throw BadInput(unexpected(app_));
    for (const std::string& word : words) place_word(word, options_);
  }

  FitOptions options_;
  CLI::App app_{kDescription, "vramfit"};
};

/// Made once: a sweep asks a million times, and making it takes longer than an estimate.
CommandLineParser& parser() {
  static thread_local CommandLineParser one;
  return one;
}

}  // namespace

FitOptions parse_options(const std::vector<std::string>& typed) { return parser().parse(typed); }

std::vector<FlagHelp> flag_helps() { return parser().flags(); }

}  // namespace vramfit
