#include "estimator/fit/card_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "estimator/ask/titles.h"
#include "estimator/fit/search_text.h"
#include "estimator/fit/terminal.h"
#include "estimator/fit/text.h"
#include "model/quantity.h"

namespace vramfit::fit {
namespace {

/// What differs between the answers is left to the table.
std::string table_header(const Question& question, const Answer& first) {
  const std::string text = model_line(first.request.model, first.estimate.parameters);
  return text + wrapped(workload_text(first.request, question.search), 2) +
         "No GPU found or given (--gpu, --vram); all known cards:\n";
}

/// Each source of an overhead with the cards it holds for; those of the one that holds for most go
/// unnamed.
std::string overheads(const std::map<std::string, std::vector<std::string>>& cards_by_source) {
  const auto most = std::max_element(
      cards_by_source.begin(), cards_by_source.end(),
      [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  std::string text;
  for (auto it = cards_by_source.begin(); it != cards_by_source.end(); ++it) {
    if (it == most) continue;
    text += wrapped(fmt::format("overhead on {}: {}", fmt::join(it->second, ", "), it->first), 2);
  }
  const char* where = cards_by_source.size() > 1 ? " on the others" : "";
  return text + wrapped(fmt::format("overhead{}: {}", where, most->first), 2);
}

/// What holds for several lines of the table.
std::string footer(const Question& question, const std::vector<Answer>& answers,
                   const Style& style) {
  std::string text;
  std::set<std::string> notes;
  std::map<std::string, std::vector<std::string>> cards_by_source;
  const Answer* assumed = nullptr;
  for (const Answer& answer : answers) {
    for (const std::string& note : answer.estimate.notes) {
      if (notes.insert(note).second) text += wrapped("note: " + note, 2);
    }
    const Overhead& overhead = answer.estimate.overhead;
    cards_by_source[overhead.source].push_back(answer.request.budget.gpu);
    if (!overhead.assumed_from.empty()) assumed = &answer;
  }
  const Answer& most = assumed == nullptr ? answers.front() : *assumed;
  text += wrapped("runs with: " + question.runs_with, 2);
  if (!style.verbose) return text + rests_on(most.request, most.estimate);
  return text + overheads(cards_by_source) + wrapped(runtime_text(most.request), 2);
}

/// The smallest card first; the catalogue's order where sizes are equal.
std::multimap<std::uint64_t, const Answer*> by_size(const std::vector<Answer>& answers) {
  std::multimap<std::uint64_t, const Answer*> sorted;
  for (const Answer& answer : answers) sorted.emplace(answer.request.budget.vram, &answer);
  return sorted;
}

}  // namespace

std::string card_table(const Question& question, const std::vector<Answer>& answers,
                       const Style& style) {
  const bool searches = question.search != nullptr;
  std::string text = table_header(question, answers.front()) + "\n";
  text += fmt::format(
      "  {:<16}{:>23}{:>12}{:>12}{}\n", "card", "VRAM", "needs, GB", "spare, GB",
      searches ? fmt::format("{:>13}{:>13}", "surely fits", "may fit") : std::string("   verdict"));
  for (const auto& [vram, answer] : by_size(answers)) {
    const auto size = [&, of = answer](std::int64_t n) {
      return size_name(*of, *question.search, n);
    };
    text += fmt::format(
        "  {:<16}{:>23}{:>12}{:>12.2f}{}\n", answer->request.budget.gpu, both_units(vram),
        gb(answer->estimate.total), static_cast<double>(answer->estimate.margin) / 1e9,
        searches
            ? fmt::format("{:>13}{:>13}", size(answer->band.surely), size(answer->band.possibly))
            : "   " + verdict_word(answer->estimate.verdict, style.colours));
  }
  return text + "\n" + footer(question, answers, style);
}

}  // namespace vramfit::fit
