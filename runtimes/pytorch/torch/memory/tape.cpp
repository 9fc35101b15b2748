#include "runtimes/pytorch/torch/memory/tape.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace vramfit::pytorch {

void Tape::begin_stage(Stage stage) {
  add(visit(kNoLayer), {.kind = Act::Kind::BeginStage, .stage = stage});
}

void Tape::end_stage() { add(visit(kNoLayer), {.kind = Act::Kind::EndStage}); }

void Tape::empty_cache() { add(visit(kNoLayer), {.kind = Act::Kind::EmptyCache}); }

void Tape::use_managed(std::uint64_t bytes) {
  add(visit(layer), {.kind = Act::Kind::UseManaged, .bytes = bytes});
}

void Tape::use_libraries(DriverCode code, std::uint64_t bytes) {
  add(visit(layer), {.kind = Act::Kind::UseLibraries, .code = code, .bytes = bytes});
}

Tape::Origin Tape::allocate(Category category, std::uint64_t bytes, const Name& name) {
  ++allocations_;
  live_ += bytes;
  peak_ = std::max(peak_, live_);
  Visit& now = visit(layer);
  if (free_slots_.empty()) free_slots_.push_back(now.slots++);
  const std::uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  add(now, {.kind = Act::Kind::Allocate,
            .category = category,
            .stream = stream,
            .times = times_,
            .slot = slot,
            .bytes = bytes,
            .name = name.layer() < 0 ? name : name.of(name.layer() - now.layer)});
  return {now.layer, now.place, slot};
}

void Tape::free(const Origin& block, Category category, std::uint64_t bytes) {
  live_ -= bytes;
  on(Act::Kind::Free, block, category, bytes);
  const Visit& now = recording_.visits.back();
  if (block.place == now.place && block.layer == now.layer) free_slots_.push_back(block.slot);
}

void Tape::relabel(const Origin& block, Category from, Category to, std::uint64_t bytes) {
  on(Act::Kind::Relabel, block, from, bytes).to = to;
}

void Tape::replace(const Origin& second, const Origin& by) {
  on(Act::Kind::Replace, by, Category{}, 0).second = second.slot;
}

Tape::TimesScope::TimesScope(Tape& tape, const std::optional<Times>& times) : tape_(tape) {
  if (!times) return;
  const Visit& now = tape.visit(tape.layer);
  std::vector<Times>& all = tape.recording_.times;
  all.push_back(*times);
  tape.times_ = static_cast<std::uint16_t>(all.size() - now.times);
}

Tape::Origin Tape::allocate_once(Category category, std::uint64_t bytes) {
  ++allocations_;
  live_ += bytes;
  peak_ = std::max(peak_, live_);
  const Origin block{kNoLayer, next_place_++, 0};
  recording_.once.push_back(block.place);
  take_once(block, category, bytes);
  return block;
}

void Tape::take_once(const Origin& block, Category category, std::uint64_t bytes) {
  on(Act::Kind::AllocateOnce, block, category, bytes).times = times_;
}

Recording Tape::take() {
  direction_ = 0;
  Recording next;
  next.acts.reserve(recording_.acts.size());
  next.visits.reserve(recording_.visits.size());
  return std::exchange(recording_, std::move(next));
}

Act& Tape::on(Act::Kind kind, const Origin& block, Category category, std::uint64_t bytes) {
  Visit& now = visit(layer == kNoLayer ? block.layer : layer);
  const bool of_layer = block.layer != kNoLayer;
  const int above = of_layer ? block.layer - now.layer : 0;
  if (std::abs(above) > 1) recording_.local = false;
  return add(now, {.kind = kind,
                   .category = category,
                   .of_layer = of_layer,
                   .place = block.place + above,
                   .slot = block.slot,
                   .bytes = bytes});
}

Act& Tape::add(Visit& to, const Act& act) {
  recording_.acts.push_back(act);
  ++to.last;
  return recording_.acts.back();
}

Visit& Tape::visit(int of) {
  std::vector<Visit>& visits = recording_.visits;
  if (!visits.empty() && visits.back().layer == of) return visits.back();
  const auto acts = static_cast<std::uint32_t>(recording_.acts.size());
  const bool both_of_layers = !visits.empty() && of != kNoLayer && visits.back().layer != kNoLayer;
  const int step = both_of_layers ? of - visits.back().layer : 0;
  const bool same_way = std::abs(step) == 1 && (direction_ == 0 || direction_ == step);
  direction_ = same_way ? step : 0;
  std::int32_t place = 0;
  if (same_way) {
    place = visits.back().place;
  } else {
    place = next_place_;
    next_place_ += of == kNoLayer ? 1 : layers_;
  }
  const auto times = static_cast<std::uint32_t>(recording_.times.size());
  visits.push_back({of, place, acts, acts, 0, times});
  free_slots_.clear();
  return visits.back();
}

}  // namespace vramfit::pytorch
