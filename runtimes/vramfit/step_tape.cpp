#include "runtimes/vramfit/step_tape.h"

#include <optional>
#include <stdexcept>

namespace vramfit {
namespace {

/// Has it told for as long as this lives.
class Watched {
 public:
  Watched(Ledger& ledger, LedgerObserver& observer) : ledger_(ledger) {
    ledger_.set_observer(&observer);
  }
  ~Watched() { ledger_.set_observer(nullptr); }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

 private:
  Ledger& ledger_;
};

}  // namespace

StepTape::StepTape(Ledger& ledger, const std::function<void()>& walk) : ledger_(ledger) {
  requests_.reserve(1 << 11);
  acts_.reserve(1 << 12);
  {
    const Watched watched(ledger, *this);
    walk();
  }
  if (!closed_) throw std::logic_error("a step frees what was there before it");
  std::erase_if(acts_, [this](const Act& act) {
    return act.kind == Act::Kind::Allocate && !requests_[act.request].freed;
  });
}

void StepTape::play(int step) {
  std::optional<StageScope> stage;
  for (const Act& act : acts_) {
    switch (act.kind) {
      case Act::Kind::BeginStage:
        stage.emplace(ledger_, act.stage, step);
        break;
      case Act::Kind::EndStage:
        stage.reset();
        break;
      case Act::Kind::Allocate: {
        Request& r = requests_[act.request];
        r.block = ledger_.allocate(r.name, r.category, r.bytes);
        break;
      }
      case Act::Kind::Free: {
        const Request& r = requests_[act.request];
        ledger_.free(r.name, r.category, r.bytes, r.block);
        break;
      }
    }
  }
}

void StepTape::stage_begins(Stage stage, int) { acts_.push_back({Act::Kind::BeginStage, stage}); }

void StepTape::stage_ends(const StageRecord&) { acts_.push_back({Act::Kind::EndStage}); }

void StepTape::allocated(const Name& name, Category category, std::uint64_t bytes,
                         const Block& block) {
  const auto number = static_cast<std::uint32_t>(requests_.size());
  requests_.push_back({name, category, false, bytes, block});
  acts_.push_back({Act::Kind::Allocate, {}, number});
}

void StepTape::freed(const Block& block) noexcept {
  if (requests_.empty() || block.handle < requests_.front().block.handle) {
    closed_ = false;
    return;
  }
  const std::uint32_t number = block.handle - requests_.front().block.handle;
  requests_[number].freed = true;
  acts_.push_back({Act::Kind::Free, {}, number});
}

}  // namespace vramfit
