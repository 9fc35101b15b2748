#include "estimator/budget.h"

#include "estimator/told_overheads.h"

namespace vramfit {
namespace {

/// Of a card of which no more is known than that it is like this one.
Overhead assumed_of_any(const Card& like) {
  Overhead overhead = assumed(like.overhead, like.title);
  overhead.doubt = told_overheads().doubt_of({}, std::nullopt, overhead);
  return overhead;
}

std::vector<std::string> notes_of(const Card& card) {
  if (!card.traits.integrated) return {};
  return {card.title +
          " shares its memory with the host, whose programs take of it, too: --headroom says how "
          "much to leave them"};
}

}  // namespace

Budget budget_of(const Card& card) {
  return {.gpu = card.name,
          .title = card.title,
          .platform = card.platform,
          .arch = card.arch,
          .multiprocessors = card.multiprocessors,
          .vram = card.vram,
          .bandwidth = card.bandwidth,
          .flops = card.flops,
          .traits = card.traits,
          .overhead = card.overhead,
          .notes = notes_of(card)};
}

std::string arch_text(const Budget& budget) {
  return budget.platform == Platform::Cuda ? "sm_" + std::to_string(budget.arch.sm)
                                           : key_of(budget.platform);
}

Gpu gpu_of(const Budget& budget) {
  Gpu gpu{budget.arch,
          budget.multiprocessors,
          budget.overhead,
          budget.platform,
          budget.room(),
          budget.vram,
          static_cast<std::uint64_t>(budget.traits.l2_bytes.value_or(0)),
          budget.title};
  for (const Budget& card : budget.machine) gpu.machine.push_back(gpu_of(card));
  return gpu;
}

Budget budget_of_size(std::uint64_t vram) {
  const Card& like = card_of_size(vram);
  Budget budget = budget_of(like);
  budget.gpu.clear();
  budget.title = "a GPU of this size";
  budget.vram = vram;
  budget.overhead = assumed_of_any(like);
  budget.notes.push_back("sm_" + std::to_string(like.arch.sm) + " assumed, and " +
                         std::to_string(like.multiprocessors) + " multiprocessors, as the " +
                         like.name + " has, which stands for such sizes (--gpu says which)");
  return budget;
}

Budget budget_of_gpu(const std::string& title, Arch arch, std::uint64_t vram) {
  const Card* known = card_titled(title, vram);
  const Card& like = known != nullptr ? *known : card_like(arch, vram);
  Budget budget = budget_of(like);
  budget.title = title;
  budget.arch = arch;
  budget.vram = vram;
  if (known == nullptr) {
    budget.gpu.clear();
    budget.overhead = assumed_of_any(like);
    budget.notes.push_back(std::to_string(like.multiprocessors) +
                           " multiprocessors assumed, as the " + like.name + " has");
  }
  return budget;
}

}  // namespace vramfit
