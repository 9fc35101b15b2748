#include "estimator/fit/card_table.h"

#include <fmt/format.h>

#include "estimator/fit/text.h"
#include "estimator/models.h"
#include "model/transformer/parameters.h"

namespace vramfit::fit {
namespace {

/// What differs between the answers is left to the table.
std::string header(const Answer& first, Search search) {
  std::string text = fmt::format("{}: {} parameters\n", short_name(first.request.model),
                                 grouped(first.estimate.parameters));
  if (search == Search::None) return text + wrapped(workload_text(first.request.workload), 2);
  return text + "";
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
  return text;
}

std::string listing() {
  std::string text = "models (--model)\n";
  for (const std::string& name : model_names()) {
    text += fmt::format("  {:<16}{:>18} parameters\n", name,
                        grouped(parameter_count(model_named(name))));
  }
  text += "\ncards (--gpu)\n";
  for (const Card& card : cards()) {
    text += fmt::format("  {:<16}{:>24}   {}\n", card.name, both_units(card.vram), card.title);
  }
  return text;
}

}  // namespace vramfit::fit
