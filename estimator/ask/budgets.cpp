#include "estimator/ask/budgets.h"

#include <algorithm>
#include <optional>
#include <sstream>

#include "estimator/ask/sizes.h"
#include "estimator/card_names.h"
#include "model/errors.h"
#include "runtimes/setting.h"

namespace vramfit {
namespace {

std::string bare_note(const std::string& vram) {
  return "--vram " + vram + " is taken as " + vram + " GB of 1e9 bytes; a card that is sold as " +
         vram + " GB has about " + vram + "GiB";
}

std::string sold_note(const std::string& size) {
  return size + " is taken as what a card that is sold so has, in GiB";
}

/// By a name, or as no more than a size is known ("24GB").
Budget budget_called(const std::string& gpu) {
  if (const std::optional<std::uint64_t> vram = sold_as(gpu)) {
    Budget budget = budget_of_size(*vram);
    budget.notes.push_back(sold_note("--gpu " + gpu));
    return budget;
  }
  const CalledCard called = card_called(gpu);
  Budget budget = budget_of(called.card);
  if (!called.others.empty()) {
    budget.notes.push_back("--gpu " + gpu + " is taken for " + called.card.name +
                           "; there is also " + all_of(called.others));
  }
  return budget;
}

/// "rtx4090,rtx3060"
std::vector<Budget> machine_of(const std::string& names) {
  std::vector<Budget> machine;
  std::istringstream list(names);
  for (std::string name; std::getline(list, name, ',');) {
    machine.push_back(budget_of(card_named(name)));
  }
  return machine;
}

std::vector<Budget> sized_budgets(const FitOptions& o, const Environment& environment) {
  if (o.gpu && o.gpu->find(',') != std::string::npos) {
    if (o.vram) throw BadInput("vram: of one card; --gpu names several");
    std::vector<Budget> machine = machine_of(*o.gpu);
    if (machine.empty()) throw BadInput("gpu: a list of no cards; as in rtx4090,rtx3060");
    const auto other = std::find_if(machine.begin(), machine.end(), [](const Budget& card) {
      return card.platform != Platform::Cuda;
    });
    if (other != machine.end()) {
      throw BadInput("gpu: " + other->gpu + " beside others; of several, all have CUDA");
    }
    Budget first = machine.front();
    first.machine = std::move(machine);
    return {first};
  }
  if (o.gpu) {
    Budget budget = budget_called(*o.gpu);
    if (o.vram) {
      budget.vram = vram_of(*o.vram);
      budget.notes.emplace_back("the card's size is set by --vram");
      if (is_bare(*o.vram)) budget.notes.push_back(bare_note(*o.vram));
      if (is_short(*o.vram)) budget.notes.push_back(sold_note("--vram " + *o.vram));
    }
    return {budget};
  }
  if (o.vram) {
    Budget budget = budget_of_size(vram_of(*o.vram));
    if (is_bare(*o.vram)) budget.notes.push_back(bare_note(*o.vram));
    if (is_short(*o.vram)) budget.notes.push_back(sold_note("--vram " + *o.vram));
    return {budget};
  }
  if (environment.gpu) {
    if (const std::optional<Budget> budget = environment.gpu()) return {*budget};
  }
  std::vector<Budget> budgets;
  for (const Card& card : cards()) budgets.push_back(budget_of(card));
  return budgets;
}

}  // namespace

std::vector<Budget> budgets_of(const FitOptions& o, const Environment& environment) {
  const std::uint64_t headroom = o.headroom ? size_of("headroom", *o.headroom) : 0;
  std::vector<Budget> budgets = sized_budgets(o, environment);
  for (Budget& budget : budgets) {
    budget.headroom = headroom;
    for (Budget& card : budget.machine) card.headroom = headroom;
  }
  return budgets;
}

}  // namespace vramfit
