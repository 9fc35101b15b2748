#include "runtimes/pytorch/torch/memory/playback.h"

#include <algorithm>
#include <utility>

#include "model/errors.h"

namespace vramfit::pytorch {
Playback::Part Playback::ready(Recording recording) {
  if (!fold_.holds_for(recording)) throw LayersDiffer{};
  Part part;
  const auto number = [&](std::int64_t place, std::uint32_t slots) {
    const auto at = static_cast<std::size_t>(place);
    if (at >= numbers_.size()) numbers_.resize(at + 1);
    numbers_[at] = next_number_;
    next_number_ += slots;
  };
  for (const std::int32_t place : recording.once) number(place, 1);
  for (const auto& [visit, layer] : fold_.unfold(recording)) {
    part.spans_.push_back({visit->first, visit->last, layer, next_number_, visit->times});
    number(visit->place + std::max<std::int64_t>(layer, 0), visit->slots);
  }
  blocks_.resize(next_number_);
  part.acts_ = std::move(recording.acts);
  part.times_ = std::move(recording.times);
  return part;
}

void Playback::play(const Part& part, int step) {
  try {
    for (const Part::Span& span : part.spans_) {
      play(part, span, step);
    }
  } catch (const OutOfMemory&) {
    if (in_stage_) {
      ledger_.end_stage(true);
      beside_at_ends_.push_back(beside_);
    }
    throw;
  }
}

inline Block Playback::allocate(const Part& part, const Act& act, const Part::Span& span) {
  std::uint64_t bytes = act.bytes;
  if (act.times != 0) {
    const Times& times = part.times_[span.times + act.times - 1];
    bytes *= static_cast<std::uint64_t>(times[static_cast<std::size_t>(span.layer)]);
    if (bytes == 0) return {};
  }
  if (allocator_ != nullptr) allocator_->use(act.stream);
  const int above = act.name.layer();
  const Name name = above < 0 ? act.name : act.name.of(static_cast<int>(span.layer) + above);
  return ledger_.allocate(name, act.category, bytes);
}

void Playback::play(const Part& part, const Part::Span& span, int step) {
  const auto block = [&](const Act& on) -> Block& {
    const auto place = static_cast<std::size_t>(on.place + (on.of_layer ? span.layer : 0));
    return blocks_[numbers_[place] + on.slot];
  };
  const Act* const end = part.acts_.data() + span.last;
  for (const Act* act = part.acts_.data() + span.first; act != end; ++act) {
    switch (act->kind) {
      case Act::Kind::Allocate:
        blocks_[span.block + act->slot] = allocate(part, *act, span);
        break;
      case Act::Kind::AllocateToStay:
        if (step <= 1) blocks_[span.block + act->slot] = allocate(part, *act, span);
        break;
      case Act::Kind::AllocateOnce:
        if (Block& once = block(*act); once.bytes == 0) once = allocate(part, *act, span);
        break;
      case Act::Kind::Free:
        if (const Block& freed = block(*act); freed.bytes > 0) {
          ledger_.free(kTensor, act->category, act->bytes, freed);
        }
        break;
      case Act::Kind::Replace:
        if (Block& second = blocks_[span.block + act->second]; second.bytes == 0) {
          std::swap(second, block(*act));
        }
        break;
      case Act::Kind::Relabel:
        ledger_.relabel(kTensor, act->category, act->to, act->bytes, block(*act));
        break;
      case Act::Kind::BeginStage:
        ledger_.begin_stage(act->stage, step);
        in_stage_ = true;
        break;
      case Act::Kind::EndStage:
        ledger_.end_stage();
        in_stage_ = false;
        beside_at_ends_.push_back(beside_);
        break;
      case Act::Kind::EmptyCache:
        ledger_.empty_cache();
        break;
      case Act::Kind::UseLibraries:
        beside_.libraries = act->bytes;
        ledger_.load(act->code);
        break;
      case Act::Kind::UseManaged:
        beside_.managed += act->bytes;
        break;
    }
  }
}

}  // namespace vramfit::pytorch
