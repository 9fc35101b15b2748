#include "estimator/fit/card_table.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "estimator/fit/text.h"
#include "estimator/models.h"
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

/// Notes, and each source of an overhead with the cards it holds for.
std::string footer(const std::vector<Answer>& answers) {
  std::string text;
  std::set<std::string> notes;
  std::map<std::string, std::string> cards_by_source;
  for (const Answer& answer : answers) {
    for (const std::string& note : answer.estimate.notes) {
      if (notes.insert(note).second) text += wrapped("note: " + note, 2);
    }
    std::string& cards = cards_by_source[answer.request.budget.overhead.source];
    cards += (cards.empty() ? "" : ", ") + answer.request.budget.gpu;
  }
  for (const auto& [source, cards] : cards_by_source) {
    text += wrapped(fmt::format("overhead on {}: {}", cards, source), 2);
  }
  return text + wrapped(runtime_text(answers.front().request), 2);
}

}  // namespace

std::string card_table(const std::vector<Answer>& answers, Search search) {
  const char* searched = search == Search::Batch ? "largest batch" : "largest seq";
  const bool searches = search != Search::None;
  std::string text = header(answers.front(), search) + "\n";
  text += fmt::format("  {:<14}{:>23}{:>12}{:>12}{}   {}\n", "card", "VRAM", "needs, GB",
                      "spare, GB", searches ? fmt::format("{:>16}", searched) : "", "verdict");
  for (const Answer& answer : answers) {
    const Budget& budget = answer.request.budget;
    text += fmt::format(
        "  {:<14}{:>23}{:>12}{:>12.2f}{}   {}\n", budget.gpu, both_units(budget.vram),
        gb(answer.estimate.total), static_cast<double>(answer.estimate.margin) / 1e9,
        searches ? fmt::format("{:>16}", *answer.largest) : "", answer.yes() ? "FITS" : "OOM");
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
    text += fmt::format("  {:<16}  pytorch{}\n", family.model_type,
                        family.runs_on_vramfit ? ", vramfit" : "");
  }
  text += "\ncards (--gpu)\n";
  for (const Card& card : cards()) {
    text += fmt::format("  {:<16}{:>24}   {}\n", card.name, both_units(card.vram), card.title);
  }
  return text;
}

}  // namespace vramfit::fit
