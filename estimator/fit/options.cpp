#include "estimator/fit/options.h"

#include <CLI/CLI.hpp>
#include <iostream>

#include "estimator/version.h"
#include "model/errors.h"

namespace vramfit::fit {
namespace {

constexpr const char* kDescription =
    "Will it fit? Runs the training or inference step on paper and says what it takes of a GPU.";

constexpr const char* kFooter =
    "Sizes are 24GB (1e9 bytes each), 24GiB, 81559MiB or plain bytes. A GPU's size is what it has\n"
    "in all, as nvidia-smi shows it; what driver and libraries take is added to the run's need.\n"
    "Without --gpu and --vram: this machine's first GPU, else every card there is data on.\n"
    "Exit status: 0 it fits (on at least one card), 1 it does not, 2 bad input, 3 anything else.\n"
    "\n"
    "  fit --model llama2-7b --train --precision fp16 --batch 4 --seq 512 --gpu rtx4090\n"
    "  fit --model llama3-8b --batch 8 --seq 8192 --vram 80GB\n"
    "  fit --params 3B --train --checkpoint full --max-batch --gpu a100-40gb";

void add_model_options(CLI::App& app, Options& options) {
  const char* group = "Which model";
  app.add_option("--model", options.model, "One of --list")->group(group);
  app.add_option("--config", options.config, "Path of a Hugging Face config.json")->group(group);
  app.add_option("--params", options.params, "A llama-shaped model of this size: 7B, 350M")
      ->group(group);
  app.add_option("--hidden", options.hidden, "Its width, with --params")->group(group);
  app.add_option("--layers", options.layers, "Its depth, with --params")->group(group);
}

void add_run_options(CLI::App& app, Options& options) {
  const char* group = "What it does";
  app.add_flag("--train", options.train, "Training instead of inference")->group(group);
  app.add_option("--optimizer", options.optimizer,
                 "With --train: adamw (default), adamw-fused, adamw-loop, sgd, sgd-momentum;\n"
                 "under vramfit: sgd, sgd-master, sgd-momentum, adamw, adamw-master, adamw-same")
      ->group(group);
  app.add_option("--accumulate", options.accumulate,
                 "With --train: micro-batches in a step (default 1)")
      ->group(group);
  app.add_option("--generate", options.generate, "Inference: new tokens (default 1)")->group(group);
  app.add_option("--precision", options.precision, "fp32, fp16 or bf16 (default)")->group(group);
  app.add_option("--batch", options.batch, "Sequences in a (micro-)batch (default 1)")
      ->group(group);
  app.add_option("--seq", options.seq, "Tokens in a sequence, or its prompt (default 2048)")
      ->group(group);
  app.add_option("--attention", options.attention,
                 "sdpa (default) or eager; under vramfit: flash (default) or cublas")
      ->group(group);
  app.add_option(
         "--runtime", options.runtime,
         "Whose memory: pytorch (default: PyTorch and transformers, eager mode) or vramfit\n"
         "(this project's own step)")
      ->group(group);
}

void add_pytorch_options(CLI::App& app, Options& options) {
  const char* group = "How PyTorch does it";
  app.add_option("--autocast", options.autocast, "With --train --precision fp32: bf16 or fp16")
      ->group(group);
  app.add_option("--checkpoint", options.checkpoint,
                 "With --train: full, every layer's activations are computed again")
      ->group(group);
  app.add_option("--lora", options.lora, "With --train: adapters of this rank (PEFT)")
      ->group(group);
  app.add_option(
         "--lora-targets", options.lora_targets,
         "With --lora: names of projections, as q_proj,v_proj, or\nall-linear (default: PEFT's)")
      ->group(group);
  app.add_flag("--padded", options.padded,
               "Inference: a prompt holds padding, as those of a batch do unless it is 1")
      ->group(group);
}

void add_gpu_options(CLI::App& app, Options& options) {
  const char* group = "On which GPU";
  app.add_option("--gpu", options.gpu, "One of --list")->group(group);
  app.add_option("--vram", options.vram, "Its size; with --gpu, that card as if it had this size")
      ->group(group);
  app.add_option("--headroom", options.headroom, "To be left free (default 0)")->group(group);
}

void add_answer_options(CLI::App& app, Options& options) {
  const char* group = "Which answer";
  app.add_flag("--max-batch", options.max_batch, "The largest batch that fits, 0 if none does")
      ->group(group);
  app.add_flag("--max-seq", options.max_seq, "The longest sequence that fits, 0 if none does")
      ->group(group);
  app.add_flag("--json", options.json, "One JSON object; sizes in bytes")->group(group);
  app.add_flag("--list", options.list, "The models and cards there are")->group(group);
}

}  // namespace

std::optional<Options> parse_options(int argc, const char* const* argv) {
  Options options;
  CLI::App app(kDescription, "fit");
  app.footer(kFooter);
  app.get_formatter()->column_width(24);
  app.set_version_flag("--version", kVersionLine, "Version and commit");
  add_model_options(app, options);
  add_run_options(app, options);
  add_pytorch_options(app, options);
  add_gpu_options(app, options);
  add_answer_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help();
    return std::nullopt;
  } catch (const CLI::CallForVersion& version) {
    std::cout << version.what() << "\n";
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    throw BadInput(std::string(error.what()) + "; fit --help says what is valid");
  }
  if (options.list && argc > 2) throw BadInput("--list: stands alone; no other flags beside it");
  return options;
}

}  // namespace vramfit::fit
