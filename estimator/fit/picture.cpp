#include "estimator/fit/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "estimator/ask/titles.h"
#include "estimator/fit/advice_text.h"
#include "estimator/fit/formula_table.h"
#include "estimator/fit/search_text.h"
#include "estimator/fit/serving_text.h"
#include "estimator/fit/sums.h"
#include "estimator/fit/terminal.h"
#include "estimator/fit/text.h"
#include "estimator/fit/verdict_text.h"
#include "estimator/fit/waterfall.h"
#include "model/quantity.h"

namespace vramfit::fit {
namespace {

std::string header(const Question& question, const Answer& answer) {
  const Request& request = answer.request;
  std::string text = model_line(request.model, answer.estimate.parameters);
  text += wrapped(workload_text(request, nullptr), 2);
  text += wrapped(on_text(request.budget), 2);
  return question.search != nullptr ? text + search_text(answer, *question.search) : text;
}

/// What PyTorch's tensors are called that have no name.
constexpr std::string_view kUnnamed = "a tensor";

/// Where a run on the card ends.
std::string end_text(const MissingMemory& missing) {
  std::string what = name(missing.category);
  std::replace(what.begin(), what.end(), '_', ' ');
  if (missing.name.text() != kUnnamed) what += " (" + missing.name.text() + ")";
  return fmt::format("it would run out {}, allocating {}", moment(missing.stage, missing.step),
                     what);
}

/// The verdict, and where a run on the card ends.
std::string answer_line(const Estimate& estimate, const Budget& budget, bool colours) {
  const std::string text = verdict_text(estimate, budget, colours);
  if (!estimate.uncertainty) return text + "; by a formula, without overhead";
  return estimate.missing ? text + "; " + end_text(*estimate.missing) : text;
}

/// A device a line: "GPU 0: model 4.6 GB, context 1.1, compute 0.1".
std::string devices_text(const std::vector<DeviceParts>& devices) {
  std::string text;
  for (const DeviceParts& device : devices) {
    std::string parts;
    for (const auto& [part, bytes] : device.parts) {
      if (bytes > 0) parts += (parts.empty() ? "" : ", ") + part + " " + both_units(bytes);
    }
    if (!parts.empty()) text += wrapped("  " + device.device + ": " + parts, 4);
  }
  return text.empty() ? text : "By device\n" + text + "\n";
}

/// A card of a machine a line: "GPU 0, rtx4090: FITS, 3.2 GB (3.0 GiB) to spare".
std::string machine_text(const std::vector<CardEstimate>& cards, bool colours) {
  std::string text;
  for (std::size_t i = 0; i < cards.size(); ++i) {
    const CardEstimate& card = cards[i];
    text +=
        wrapped(fmt::format("  GPU {}, {}: {}, {} {} of {}", i, card.name,
                            verdict_word(card.verdict, colours),
                            both_units(static_cast<std::uint64_t>(std::abs(card.margin))),
                            card.margin >= 0 ? "to spare" : "too little", both_units(card.vram)),
                4);
  }
  return text.empty() ? text : "By card\n" + text + "\n";
}

/// What the runtime would set by itself, where that is not what was asked.
std::string own_choice_text(const Answer& answer) {
  if (!answer.own_choice || answer.estimate.verdict == Verdict::Fits) return "";
  std::string flags;
  for (const auto& [flag, value] : answer.own_choice->flags)
    flags += fmt::format(" --{} {}", flag, value);
  if (!answer.own_choice->failure.empty()) {
    flags += ", and gives up: " + answer.own_choice->failure;
  }
  return wrapped(fmt::format("{} would set by itself:{}", answer.request.workload->runtime().name(),
                             flags),
                 2) +
         "\n";
}

/// Where the loss's logits are half of the activations or more. As backward begins live its
/// argument and both gradients in fp32, and the model's own logits in 16 bits: three and a half
/// copies.
std::string logits_text(const Answer& answer) {
  const Facts facts = answer.request.workload->facts();
  if (!facts.whole_logits) return "";
  const auto tokens = static_cast<std::uint64_t>(facts.batch * facts.seq);
  const auto vocab = static_cast<std::uint64_t>(answer.request.model.vocab);
  const std::uint64_t copy = tokens * vocab * sizeof(float);
  constexpr std::uint64_t kTwiceAllCopies = 7;
  if (kTwiceAllCopies * copy < answer.estimate.peak.by_category[Category::Activations]) return "";
  return wrapped(
      fmt::format("note: logits are most of the activations: {} tokens x {} of the "
                  "vocabulary in fp32 are {} GB a copy",
                  grouped(facts.batch * facts.seq), grouped(answer.request.model.vocab), gb(copy)),
      2);
}

std::string grounds(const Question& question, const Answer& answer, const Style& style) {
  const Estimate& estimate = answer.estimate;
  std::string text;
  for (const std::string& note : estimate.notes) text += wrapped("note: " + note, 2);
  text += logits_text(answer);
  for (const Change& change : answer.changes) {
    text += wrapped(
        fmt::format("note: with {} it would be {}", change.choice, name(change.verdict)), 2);
  }
  text += wrapped("runs with: " + question.runs_with, 2);
  if (!style.verbose) return text + rests_on(answer.request, estimate);
  text += wrapped("overhead: " + estimate.overhead.source, 2);
  return text + wrapped(runtime_text(answer.request), 2);
}

/// What would make it fit, or how to ask that.
std::string help_text(const Question& question, const Answer& answer, const Style& style) {
  if (answer.advised) return advice_text(answer, style.colours) + "\n";
  const bool fits = answer.estimate.verdict == Verdict::Fits;
  const bool can_ask = answer.request.workload->runtime().can().no_advice == nullptr;
  if (fits || !can_ask || question.search != nullptr) return "";
  return "What would make it fit: --advise\n\n";
}

}  // namespace

std::string picture(const Question& question, const Answer& answer, const Style& style) {
  const Estimate& estimate = answer.estimate;
  std::string text = header(question, answer) + "\n";
  text += sums(estimate, answer.request.budget) + "\n";
  text += wrapped(answer_line(estimate, answer.request.budget, style.colours), 2) + "\n";
  text += machine_text(estimate.cards, style.colours);
  if (estimate.serving) text += serving_text(*estimate.serving);
  text += devices_text(estimate.devices) + own_choice_text(answer);
  if (style.verbose) text += waterfall(estimate) + "\n";
  text += help_text(question, answer, style);
  if (!answer.formulas.empty()) text += formula_table(answer, style.verbose) + "\n";
  return text + grounds(question, answer, style);
}

}  // namespace vramfit::fit
