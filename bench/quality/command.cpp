#include "bench/quality/command.h"

#include <CLI/CLI.hpp>
#include <iostream>

#include "estimator/models.h"
#include "model/config/hugging_face.h"
#include "model/errors.h"
#include "model/quantity.h"

namespace vramfit::bench {
namespace {

constexpr const char* kDescription =
    "What fewer bits cost a model that was trained: trains one with vramfit's own step, and says "
    "how\nsurprised it is by held-out text in every format of weights and cache.";

constexpr std::int64_t kMostSteps = 10'000'000;

/// As typed, before it is looked up.
struct Typed {
  std::string model = "gpt2-124m";
  std::string config;
  std::string precision = "bf16";
  std::string optimizer = "adamw-master";
  std::int64_t lora = 0;
  std::string checkpoint;
  std::string start;
  std::string stop_after;
};

void add_model(CLI::App& app, Typed& typed, QualityOptions& options) {
  app.add_option("--model", typed.model, "by its name")->capture_default_str();
  app.add_option("--config", typed.config, "instead: a config.json");
  app.add_option("--device", options.device, "cuda, or cpu: the default is cuda where one answers");
  app.add_option("--batch", options.course.options.batch, "sequences at a time")
      ->capture_default_str();
  app.add_option("--seq", options.course.options.seq, "tokens of each")->capture_default_str();
}

void add_train(CLI::App& app, Typed& typed, QualityOptions& options) {
  Course& course = options.course;
  add_model(app, typed, options);
  app.add_option("--text", options.files.text, "tokens to learn from")->required();
  app.add_option("--held-out", options.files.held_out, "tokens to be judged by")->required();
  app.add_option("--log", options.files.log, "for losses: a line of JSON each")->required();
  app.add_option("--checkpoint", typed.checkpoint, "where the course stands: goes on from it");
  app.add_option("--start", typed.start, "weights to start with: a checkpoint of another course");
  app.add_option("--gemm-algorithms", options.measuring.gemm_algorithms,
                 "a file that keeps tuned GEMMs for the next stretch");
  app.add_option("--precision", typed.precision, "of weights, frozen ones too")
      ->capture_default_str();
  app.add_option("--optimizer", typed.optimizer, "by its name")->capture_default_str();
  app.add_option("--lora", typed.lora, "rank of adapters beside every linear; all else is frozen");
  app.add_option("--steps", course.steps, "of the course")->required();
  app.add_option("--learning-rate", course.options.settings.learning_rate, "the highest")
      ->capture_default_str();
  app.add_option("--warm-up", course.warm_up, "steps until it is reached")->capture_default_str();
  app.add_option("--seed", course.seed, "of the order of reading")->capture_default_str();
  app.add_option("--evaluate-every", course.evaluate_every, "steps; 0: at both ends")
      ->capture_default_str();
  app.add_option("--evaluate-on", course.evaluate_on, "batches")->capture_default_str();
  app.add_option("--stop-after", typed.stop_after, "a step, before the course ends");
  app.add_option("--seconds", options.stretch.seconds, "likewise: a stretch's, at most")
      ->capture_default_str();
}

void add_score(CLI::App& app, Typed& typed, QualityOptions& options) {
  add_model(app, typed, options);
  app.add_option("--start", typed.start, "weights: a checkpoint")->required();
  app.add_option("--held-out", options.files.held_out, "tokens")->required();
  app.add_option("--prompt", options.prompt, "tokens of a window that are not scored")->required();
  app.add_option("--windows", options.windows, "of the text")->required();
  app.add_option("--precision", options.precisions, "of weights: one or several")
      ->delimiter(',')
      ->required();
  app.add_option("--cache", options.caches, "unquantized, fp8, int8: one or several")
      ->delimiter(',')
      ->capture_default_str();
}

void add_batches(CLI::App& app, Typed& typed, QualityOptions& options) {
  add_model(app, typed, options);
  app.add_option("--text", options.files.text, "tokens to learn from")->required();
  app.add_option("--seed", options.course.seed, "of the order of reading")->capture_default_str();
  app.add_option("--steps", options.course.steps, "the first of a course")->required();
  app.add_option("--out", options.out, "for their windows: (steps, batch, seq + 1) tokens")
      ->required();
}

void require_positive(const char* name, std::int64_t value, std::int64_t least) {
  if (value >= least && value <= kMostSteps) return;
  throw BadInput(std::string(name) + ": is " + std::to_string(value) + "; from " +
                 std::to_string(least) + " to " + std::to_string(kMostSteps));
}

void look_up(const Typed& typed, QualityOptions& options) {
  Course& course = options.course;
  course.config = typed.config.empty() ? model_named(typed.model) : read_hugging_face(typed.config);
  course.options.precision = parse_model_precision(typed.precision);
  course.options.optimizer = optimizer_named(typed.optimizer);
  if (typed.lora != 0) {
    LoraOptions lora;
    lora.rank = typed.lora;
    lora.alpha = static_cast<float>(typed.lora);
    lora.targets = lora_targets(course.config);
    course.options.lora = lora;
  }
  if (!typed.checkpoint.empty()) options.files.checkpoint = typed.checkpoint;
  if (!typed.start.empty()) options.files.start = typed.start;
  options.stretch.to_step = course.steps;
  if (!typed.stop_after.empty()) {
    options.stretch.to_step =
        static_cast<int>(parse_whole("stop-after", typed.stop_after, 0, course.steps));
  }
}

void require_numbers(const QualityOptions& options) {
  const Course& course = options.course;
  require_positive("batch", course.options.batch, 1);
  require_positive("seq", course.options.seq, 1);
  if (options.command == QualityOptions::Command::Score) {
    require_positive("prompt", options.prompt, 1);
    require_positive("seq behind the prompt", course.options.seq - options.prompt, 1);
    return require_positive("windows", options.windows, 1);
  }
  require_positive("steps", course.steps, 1);
  require_positive("warm-up", course.warm_up, 0);
  require_positive("evaluate-every", course.evaluate_every, 0);
  require_positive("evaluate-on", course.evaluate_on, 0);
  const float rate = course.options.settings.learning_rate;
  if (!(rate > 0 && rate <= 1)) throw BadInput("learning-rate: above 0, and 1 at most");
  if (!(options.stretch.seconds > 0)) throw BadInput("seconds: above 0");
  if (options.files.checkpoint && course.options.lora) {
    throw BadInput("checkpoint: a course of adapters is not kept; without --lora");
  }
}

}  // namespace

QualityOptions parse_quality(int argc, const char* const* argv) {
  using Command = QualityOptions::Command;
  QualityOptions options;
  options.caches = {"unquantized"};
  options.course.options.seq = 1024;
  options.stretch.seconds = 1e9;
  Typed typed;
  CLI::App app(kDescription, "quality");
  app.require_subcommand(1);
  CLI::App* train = app.add_subcommand("train", "a stretch of a course, or all of it");
  CLI::App* score = app.add_subcommand("score", "perplexity of held-out text, a line each");
  CLI::App* batches = app.add_subcommand("batches", "what a course reads, for others to read");
  add_train(*train, typed, options);
  add_score(*score, typed, options);
  add_batches(*batches, typed, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::cout << (app.get_subcommands().empty() ? app.help() : app.get_subcommands()[0]->help());
    return options;
  } catch (const CLI::ParseError& error) {
    throw BadInput(std::string(error.what()) + "; quality --help says what is valid");
  }
  options.command = train->parsed()   ? Command::Train
                    : score->parsed() ? Command::Score
                                      : Command::Batches;
  look_up(typed, options);
  require_numbers(options);
  return options;
}

}  // namespace vramfit::bench
