#include "estimator/fit/advice_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "estimator/fit/terminal.h"
#include "estimator/fit/text.h"
#include "estimator/slowdowns.h"

namespace vramfit::fit {
namespace {

/// Rows that are printed; --json has all.
constexpr std::size_t kRows = 8;
/// Where what is to be changed begins.
constexpr std::size_t kColumn = 36;
constexpr const char* kAdviceRow = "  {:>9}  {:<5}  {:>12}   {}";

std::string labels(const Advice& advice) {
  std::vector<std::string> list;
  for (const Choice& choice : advice.choices) list.push_back(choice.label);
  return fmt::format("{}", fmt::join(list, ", "));
}

/// A line for each call of a script: "LoraConfig(r=16)".
std::vector<std::string> calls(const Advice& advice) {
  std::vector<std::string> names;
  std::vector<std::string> arguments;
  for (const Choice& choice : advice.choices) {
    for (const auto& [call, argument] : choice.script) {
      const auto known = std::find(names.begin(), names.end(), call);
      if (known == names.end()) {
        names.push_back(call);
        arguments.push_back(argument);
      } else {
        arguments[static_cast<std::size_t>(known - names.begin())] += ", " + argument;
      }
    }
  }
  for (std::size_t i = 0; i < names.size(); ++i) names[i] += "(" + arguments[i] + ")";
  return names;
}

std::string to_copy(const std::string& text) {
  return wrapped(std::string(kColumn, ' ') + text, kColumn + 2);
}

std::string row(const Advice& advice, bool colours) {
  const auto slowdown = advice.slowdown();
  const std::string time = slowdown ? fmt::format("{:.2f} x", *slowdown) : "not measured";
  const std::string verdict = verdict_word(advice.estimate.verdict, colours);
  const std::string padding(5 - std::string(name(advice.estimate.verdict)).size(), ' ');
  std::string text = wrapped(std::string(kColumn, ' ') + labels(advice), kColumn);
  text.replace(0, kColumn,
               fmt::format(kAdviceRow, gb(advice.estimate.total), verdict + padding, time, ""));
  std::string flags = flags_text(advice);
  for (const std::string& flag : without(advice)) flags += ", without --" + flag;
  text += to_copy(flags);
  for (const std::string& call : calls(advice)) text += to_copy(call);
  for (const Choice& choice : advice.choices) {
    if (!choice.launch.empty()) text += to_copy(choice.launch);
  }
  return text;
}

/// Where nothing is enough.
std::string least_text(const Advised& advised) {
  if (!advised.least) return "Nothing that could be changed makes it fit.\n";
  return wrapped(fmt::format("Nothing that could be changed makes it fit: with {} it still takes "
                             "{} GB.",
                             labels(*advised.least), gb(advised.least->estimate.total)),
                 2);
}

/// The fewest of the card's kind, by strategy.
std::string on_several_gpus(const Advised& advised, bool colours) {
  if (advised.on_several_gpus.empty()) return "";
  const bool training = advised.timed == "training";
  std::string text = training
                         ? "On several such GPUs, each with a batch of its own unless said; total "
                           "and time are each GPU's\n"
                         : "On several such GPUs; total is the fullest one's\n";
  for (const Advice& advice : advised.on_several_gpus) text += row(advice, colours);
  return text;
}

}  // namespace

std::string advice_text(const Answer& answer, bool colours) {
  const Advised& advised = *answer.advised;
  if (answer.estimate.verdict == Verdict::Fits) {
    return "It fits as it is: nothing has to be changed.\n";
  }
  std::string text;
  if (advised.list.empty()) {
    text = least_text(advised);
  } else {
    const bool tight = answer.estimate.verdict == Verdict::Tight;
    text = wrapped(fmt::format("What makes it {}, the cheapest first; time: of a token in {}, "
                               "against now, on an {}",
                               tight ? "surely fit" : "fit", advised.timed, slowdowns().gpu),
                   2);
    text += fmt::format(kAdviceRow, "total, GB", "", "time", "change") + "\n";
    const std::size_t shown = std::min(advised.list.size(), kRows);
    for (std::size_t i = 0; i < shown; ++i) text += row(advised.list[i], colours);
    if (advised.list.size() > shown) {
      text += fmt::format("  and {} more: --json\n", advised.list.size() - shown);
    }
  }
  if (!advised.cards.empty()) {
    text += wrapped(fmt::format("As it is it fits on {}", fmt::join(advised.cards, ", ")), 2);
  }
  return text + on_several_gpus(advised, colours);
}

}  // namespace vramfit::fit
