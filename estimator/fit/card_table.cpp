#include "estimator/fit/card_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "estimator/fit/text.h"
#include "estimator/models.h"
#include "estimator/runtimes.h"
#include "model/config/families.h"
#include "model/transformer/parameters.h"

namespace vramfit::fit {
namespace {

/// What differs between the answers is left to the table.
std::string header(const Answer& first, Search search) {
  const std::string text = fmt::format("{}: {} parameters\n", short_name(first.request.model),
                                       grouped(first.estimate.parameters));
  return text + wrapped(workload_text(first.request, search), 2) +
         "no GPU here, and none named (--gpu, --vram): on each card there is data on\n";
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
std::string footer(const std::vector<Answer>& answers) {
  std::string text;
  std::set<std::string> notes;
  std::map<std::string, std::vector<std::string>> cards_by_source;
  for (const Answer& answer : answers) {
    for (const std::string& note : answer.estimate.notes) {
      if (notes.insert(note).second) text += wrapped("note: " + note, 2);
    }
    cards_by_source[answer.estimate.overhead.source].push_back(answer.request.budget.gpu);
  }
  text += overheads(cards_by_source);
  return text + wrapped(runtime_text(answers.front().request), 2);
}

/// The smallest card first; the catalogue's order where sizes are equal.
std::multimap<std::uint64_t, const Answer*> by_size(const std::vector<Answer>& answers) {
  std::multimap<std::uint64_t, const Answer*> sorted;
  for (const Answer& answer : answers) sorted.emplace(answer.request.budget.vram, &answer);
  return sorted;
}

}  // namespace

std::string card_table(const std::vector<Answer>& answers, Search search) {
  const char* searched = search == Search::Batch ? "largest batch" : "largest seq";
  const bool searches = search != Search::None;
  std::string text = header(answers.front(), search) + "\n";
  text += fmt::format("  {:<16}{:>23}{:>12}{:>12}{}   {}\n", "card", "VRAM", "needs, GB",
                      "spare, GB", searches ? fmt::format("{:>16}", searched) : "", "verdict");
  for (const auto& [vram, answer] : by_size(answers)) {
    text += fmt::format("  {:<16}{:>23}{:>12}{:>12.2f}{}   {}\n", answer->request.budget.gpu,
                        both_units(vram), gb(answer->estimate.total),
                        static_cast<double>(answer->estimate.margin) / 1e9,
                        searches ? fmt::format("{:>16}", answer->largest->size) : "",
                        answer->yes() ? "FITS" : "OOM");
  }
  return text + "\n" + footer(answers);
}

std::string listing() {
  std::string text = "models (--model)\n";
  for (const std::string& name : model_names()) {
    text += fmt::format("  {:<16}{:>18} parameters\n", name,
                        grouped(parameter_count(model_named(name))));
  }
  text += "\nfamilies (--config), and whose step runs them\n";
  for (const FamilyReader& family : families()) {
    std::vector<std::string> names;
    for (const Runtime* runtime : runtimes()) {
      if (runtime->runs(family)) names.emplace_back(runtime->name());
    }
    text += fmt::format("  {:<16}  {}\n", family.model_type, fmt::join(names, ", "));
  }
  text += "\ncards (--gpu)\n";
  std::multimap<std::uint64_t, const Card*> sorted;
  for (const Card& card : cards()) sorted.emplace(card.vram, &card);
  for (const auto& [vram, card] : sorted) {
    text += fmt::format("  {:<16}{:>24}   {}\n", card->name, both_units(vram), card->title);
  }
  return text;
}

}  // namespace vramfit::fit
