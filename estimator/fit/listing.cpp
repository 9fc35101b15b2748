#include "estimator/fit/listing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <vector>

#include "estimator/cards.h"
#include "estimator/fit/text.h"
#include "estimator/models.h"
#include "estimator/runtimes.h"
#include "model/config/families.h"
#include "model/quantity.h"
#include "model/transformer/parameters.h"

namespace vramfit::fit {
namespace {

/// Those shipped for the runtimes that alone have them.
std::map<std::string, std::vector<std::string>> more_models_by_runtime() {
  std::map<std::string, std::vector<std::string>> models;
  for (const std::string& name : more_model_names()) {
    for (const std::string& runtime : runtimes_of(name)) models[runtime].push_back(name);
  }
  return models;
}

}  // namespace

namespace {

std::string card_line(const Card& card) {
  return fmt::format("  {:<16}{:>24}   {}\n", card.name, both_units(card.vram), card.title);
}

}  // namespace

std::string listing() {
  std::string text = "models (--model)\n";
  for (const std::string& name : model_names()) {
    text += fmt::format("  {:<16}{:>18} parameters\n", name,
                        grouped(parameter_count(model_named(name))));
  }
  text += "\nshapes (--model), of whose families some are not run by all runtimes\n";
  text += wrapped(fmt::format("  {}", fmt::join(shape_names(), ", ")), 2);
  for (const auto& [runtime, names] : more_models_by_runtime()) {
    text += wrapped(fmt::format("  --runtime {} also: {}", runtime, fmt::join(names, ", ")), 4);
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
    text += card_line(*card);
  }
  text += "\nwithout CUDA, under --runtime llama.cpp\n";
  for (const Card& card : other_cards()) text += card_line(card);
  return text;
}

}  // namespace vramfit::fit
