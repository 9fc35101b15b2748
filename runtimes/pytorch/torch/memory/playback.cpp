#include "runtimes/pytorch/torch/memory/playback.h"

#include <algorithm>
#include <utility>

#include "model/errors.h"

namespace vramfit::pytorch {
namespace {

/// PyTorch's tensors have no names.
constexpr Name kName = "a tensor";

}  // namespace

Playback::Part Playback::ready(Recording recording) {
  if (!fold_.holds_for(recording)) throw LayersDiffer{};
  Part part;
  for (const auto& [visit, layer] : fold_.unfold(recording)) {
    const auto place = static_cast<std::size_t>(visit->place + std::max<std::int64_t>(layer, 0));
    if (place >= numbers_.size()) numbers_.resize(place + 1);
    numbers_[place] = next_number_;
    part.spans_.push_back({visit->first, visit->last, layer, next_number_});
    next_number_ += visit->slots;
  }
  blocks_.resize(next_number_);
  part.acts_ = std::move(recording.acts);
  return part;
}

void Playback::play(const Part& part, int step) {
  try {
    for (const Part::Span& span : part.spans_) {
      play(part.acts_.data() + span.first, part.acts_.data() + span.last, span, step);
    }
  } catch (const OutOfMemory&) {
    if (in_stage_) {
      ledger_.end_stage(true);
      beside_at_ends_.push_back(beside_);
    }
    throw;
  }
}

void Playback::play(const Act* act, const Act* end, const Part::Span& span, int step) {
  const auto block = [&](const Act& on) -> const Block& {
    const auto place = static_cast<std::size_t>(on.place + (on.of_layer ? span.layer : 0));
    return blocks_[numbers_[place] + on.slot];
  };
  for (; act != end; ++act) {
    switch (act->kind) {
      case Act::Kind::Allocate:
        if (allocator_ != nullptr) allocator_->use(act->stream);
        blocks_[span.block + act->slot] = ledger_.allocate(kName, act->category, act->bytes);
        break;
      case Act::Kind::Free:
        ledger_.free(kName, act->category, act->bytes, block(*act));
        break;
      case Act::Kind::Relabel:
        ledger_.relabel(kName, act->category, act->to, act->bytes, block(*act));
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
