#include "model/memory/ledger.h"

#include <algorithm>
#include <exception>
#include <stdexcept>

#include "model/errors.h"

namespace vramfit {
namespace {

/// Gradients are born one by one while activations die, and die together before states and the next
/// activations need room. Kept at the top, they leave one gap below instead of many between: over
/// the default sweep's rows of one GPU the worst reserved is 1.014 of its peak rather than 1.05. So
/// do the slots of several GPUs, which live as long.
Placement placement_of(Category category) {
  const bool high = category == Category::Gradients || category == Category::Communication;
  return high ? Placement::Highest : Placement::BestFit;
}

}  // namespace

// Part of allocate(), its only caller: a dry run comes here thousands of times.
inline Block Ledger::place(const Name& name, Category category, std::uint64_t bytes) {
  try {
    return allocator_.allocate(bytes, placement_of(category));
  } catch (const OutOfMemory&) {
    record(Event::Kind::OutOfMemory, name, category, bytes, 0);
    if (!missing_) missing_ = {name, category, last_stage_, current_.step, bytes};
    throw;
  }
}

Block Ledger::allocate(const Name& name, Category category, std::uint64_t bytes) {
  if (recording_) ++allocations_;
  const Block block = place(name, category, bytes);
  const std::uint64_t size = counted(bytes, block);
  record(Event::Kind::Allocate, name, category, size, block.offset, bytes);
  current_.allocated += size;
  current_.by_category[category] += size;
  stage_peak_ = std::max(stage_peak_, current_.allocated);
  stage_peak_reserved_ = std::max(stage_peak_reserved_, allocator_.reserved());
  if (current_.allocated > peak_.allocated) peak_ = current_;
  if (observer_ != nullptr) observer_->allocated(name, category, bytes, block);
  return block;
}

void Ledger::free(const Name& name, Category category, std::uint64_t bytes,
                  const Block& block) noexcept {
  const std::uint64_t size = counted(bytes, block);
  allocator_.free(block);
  record(Event::Kind::Free, name, category, size, block.offset);
  if (observer_ != nullptr) observer_->freed(block);
  current_.allocated -= size;
  current_.by_category[category] -= size;
}

void Ledger::relabel(const Name& name, Category from, Category to, std::uint64_t bytes,
                     const Block& block) {
  const std::uint64_t size = counted(bytes, block);
  record(Event::Kind::Relabel, name, to, size, block.offset);
  current_.by_category[from] -= size;
  current_.by_category[to] += size;
}

Ledger& Ledger::of(MemorySpace space) {
  if (space == MemorySpace::Device) return *this;
  if (host_ == nullptr) throw std::logic_error("a run without host memory keeps something there");
  return *host_;
}

void Ledger::begin_stage(Stage stage, int step) {
  if (host_ != nullptr) host_->begin_stage(stage, step);
  if (current_.stage != Stage::Outside) throw std::logic_error("a stage began within another");
  if (observer_ != nullptr) observer_->stage_begins(stage, step);
  current_.stage = last_stage_ = stage;
  current_.step = step;
  stage_before_ = stage_peak_ = current_.allocated;
  stage_peak_reserved_ = reserved();
  record(Event::Kind::StageBegin, {}, Category::Parameters, 0, 0);
}

void Ledger::end_stage(bool out_of_memory) {
  if (host_ != nullptr) host_->end_stage(out_of_memory);
  record(Event::Kind::StageEnd, {}, Category::Parameters, 0, 0);
  stages_.push_back({current_.stage, current_.step, stage_before_, current_.allocated, stage_peak_,
                     reserved(), current_.by_category, out_of_memory, stage_peak_reserved_});
  current_.stage = Stage::Outside;
  if (observer_ != nullptr) observer_->stage_ends(stages_.back());
}

void Ledger::write_down(Event::Kind kind, const Name& name, Category category, std::uint64_t bytes,
                        std::uint64_t offset, std::uint64_t requested) {
  events_.push_back({kind, current_.stage, category, current_.step, name, bytes, offset,
                     allocator_.reserved(), requested});
}

StageScope::StageScope(Ledger& ledger, Stage stage, int step)
    : ledger_(ledger), exceptions_(std::uncaught_exceptions()) {
  ledger_.begin_stage(stage, step);
}

StageScope::~StageScope() { ledger_.end_stage(std::uncaught_exceptions() > exceptions_); }

std::string Event::text() const {
  static constexpr const char* kKinds[] = {"stage begins", "stage ends",    "allocate",
                                           "free",         "out of memory", "relabel"};
  std::string text = kKinds[static_cast<std::size_t>(kind)];
  text += " in " + std::string(vramfit::name(stage)) + " of step " + std::to_string(step);
  if (kind == Kind::StageBegin || kind == Kind::StageEnd) return text;
  return text + ": " + name.text() + " (" + vramfit::name(category) + ", " + std::to_string(bytes) +
         " B at " + std::to_string(offset) + ", reserved " + std::to_string(reserved) + ")";
}

std::optional<std::string> first_difference(const std::vector<Event>& a,
                                            const std::vector<Event>& b) {
  const std::size_t shared = std::min(a.size(), b.size());
  for (std::size_t i = 0; i < shared; ++i) {
    if (!(a[i] == b[i])) {
      return "event " + std::to_string(i) + ": " + a[i].text() + " | " + b[i].text();
    }
  }
  if (a.size() == b.size()) return std::nullopt;
  const std::string extra =
      a.size() > b.size() ? a[shared].text() + " | nothing" : "nothing | " + b[shared].text();
  return "event " + std::to_string(shared) + ": " + extra;
}

}  // namespace vramfit
