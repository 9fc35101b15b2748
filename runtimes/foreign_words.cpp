#include "runtimes/foreign_words.h"

namespace vramfit {
namespace {

using enum ForeignWord::Use;
using enum ForeignWord::Takes;

constexpr const char* kShares =
    "not predicted yet; vramfit run runs the script; nearest: --gpus N --strategy fsdp, which "
    "shares weights, gradients and states as ZeRO-3 does, or zero1";
constexpr const char* kTrl =
    "another loss than a language model's; vramfit run runs TRL's trainers";

constexpr ForeignWord kWords[] = {
    // Of transformers' TrainingArguments, of TRL's and PEFT's: schedules, rates, files, names.
    {"learning-rate lr lr-scheduler-type lr-scheduler-kwargs warmup-steps warmup-ratio "
     "weight-decay num-train-epochs num-epochs max-steps adam-beta1 adam-beta2 adam-epsilon "
     "logging-steps logging-dir logging-strategy save-steps save-strategy save-total-limit "
     "eval-steps eval-strategy evaluation-strategy seed data-seed output-dir report-to run-name "
     "lora-alpha dataset-name dataset-config dataset-split dataset-text-field "
     "dataloader-num-workers dataset-num-proc hub-model-id hub-token token revision model-revision "
     "subfolder cache-dir task-type"},
    {"push-to-hub group-by-length disable-tqdm overwrite-output-dir use-peft remove-unused-columns "
     "dataloader-pin-memory load-best-model-at-end use-fast-tokenizer tf32 low-cpu-mem-usage "
     "do-sample",
     PassedOver, Truth},
    // Of generate(): how a token is chosen.
    {"temperature top-p top-k repetition-penalty"},
    // What is taken, and what to know of it.
    {"trust-remote-code", Noted, Truth,
     "nobody's code is run here: the shape is its config's, and its family's steps are "
     "transformers' own"},
    {"packing", Noted, Truth,
     "packed, every sequence has all its --seq tokens, which is what is shown"},
    {"max-grad-norm", Noted, Value,
     "what clipping gradients takes, a few numbers a tensor, is not counted"},
    // What another answers.
    {"num-beams", Refused, Value,
     "beams are not predicted here; nearest: --batch times as many; vramfit run runs the script",
     "1"},
    {"use-liger-kernel use-liger", Refused, Truth,
     "Liger's kernels are not predicted here; vramfit run runs the script with them"},
    {"torch-compile", Refused, Truth,
     "eager steps are predicted here; vramfit model --compile runs a compiled one, vramfit run the "
     "script"},
    {"dpo grpo ppo kto orpo", Refused, Truth, kTrl},
    {"ref-model", Refused, Value, kTrl},
    {"num-generations", Refused, Value, kTrl, "1"},
    {"neftune-noise-alpha", Refused, Value,
     "noise on embeddings is not predicted here; vramfit run runs the script", "0"},
    {"qlora", Refused, Truth, kQuantizedWeights},
    {"bits", Refused, Value, kQuantizedWeights, "16"},
    {"quantization quantization-config", Refused, Value, kQuantizedWeights},
    {"deepspeed", Refused, Value, kShares},
    {"use-deepspeed", Refused, Truth, kShares},
    {"tensor-parallel-size", Refused, Value, kShares, "1"},
};

}  // namespace

std::span<const ForeignWord> general_foreign_words() { return kWords; }

}  // namespace vramfit
