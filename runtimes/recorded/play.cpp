#include "runtimes/recorded/play.h"

#include <utility>

#include "model/errors.h"
#include "runtimes/pytorch/torch/memory/caching_allocator.h"

namespace vramfit::recorded {
namespace {

using pytorch::CachingAllocator;
using pytorch::LibrarySizes;

/// PyTorch's tensors have no names.
constexpr Name kName = "a tensor";

/// The caching allocator, to which what another stream still has comes back later than the script
/// let go of it, and PyTorch counted it as free.
class LateAllocator final : public Allocator {
 public:
  explicit LateAllocator(CachingAllocator& allocator) : allocator_(allocator) {}

  bool holds = false;  ///< what is freed meanwhile does not come back yet

  Block allocate(std::uint64_t bytes, Placement placement) override {
    return allocator_.allocate(bytes, placement);
  }
  void free(const Block& block) noexcept override {
    if (!holds) allocator_.free(block);
  }
  std::uint64_t reserved() const override { return allocator_.reserved(); }
  void empty_cache() override { allocator_.empty_cache(); }
  void load(DriverCode code) override { allocator_.load(code); }

 private:
  CachingAllocator& allocator_;
};

/// As the card that is asked about has it; of others what was recorded.
std::uint64_t bytes_of(const Act& load, const LibrarySizes& sizes) {
  switch (load.code) {
    case DriverCode::FirstKernel:  // within the context
    case DriverCode::Asserts:
      return 0;
    case DriverCode::Blas:
      return sizes.blas;
    case DriverCode::BlasHandle:
      return sizes.backward_blas;
    case DriverCode::Attention:
      return sizes.attention;
    case DriverCode::BackwardAttention:
      return sizes.backward_attention;
    case DriverCode::Other:
      break;
  }
  return load.bytes;
}

class Player {
 public:
  Player(const RunTape& tape, const Sizes& sizes, const Card& card, CachingAllocator& allocator,
         LateAllocator& late, Ledger& ledger)
      : tape_(tape),
        sizes_(sizes),
        card_(card),
        allocator_(allocator),
        late_(late),
        ledger_(ledger),
        rows_(tape.steps.size() + 2),
        libraries_(card.libraries.context) {}

  /// Step `number` of the run: one that was recorded, or the last again.
  void play(std::size_t number) {
    const std::size_t recorded = std::min(number, tape_.steps.size() - 1);
    const Step& step = tape_.steps[recorded];
    previous_ = row_;
    // Those of a step that repeats take turns.
    row_ = &rows_[recorded == number ? number : tape_.steps.size() + number % 2];
    row_->assign(step.blocks, {});
    try {
      for (const Act& act : step.acts) {
        if (sizes_.met[act.when]) play(act, static_cast<int>(number));
      }
    } catch (const OutOfMemory&) {
      end_stage(true);
      throw;
    }
    end_stage(false);
  }

  /// What the driver's part of the card was as each stage ended. Bytes.
  const std::vector<std::uint64_t>& beside() const { return beside_; }

 private:
  struct Cell {
    enum class State : std::uint8_t { Free, Live, Dropped };
    Block block;
    std::uint64_t bytes = 0;  ///< as asked for
    Category category{};
    State state = State::Free;
  };
  using Row = std::vector<Cell>;

  void play(const Act& act, int step) {
    switch (act.kind) {
      case Act::Kind::BeginStage:
        end_stage(false);
        ledger_.begin_stage(act.stage, step);
        in_stage_ = true;
        break;
      case Act::Kind::Allocate: {
        allocator_.use(static_cast<pytorch::Stream>(act.stream));
        std::uint64_t bytes = sizes_.bytes[act.size];
        if (handles_ > 0 && bytes == card_.recorded_workspace &&
            act.category == Category::Workspace) {
          bytes = card_.workspace;
          --handles_;
        }
        (*row_)[act.block] = {ledger_.allocate(kName, act.category, bytes), bytes, act.category,
                              Cell::State::Live};
        break;
      }
      case Act::Kind::Drop:
        drop(cell_of(act));
        break;
      case Act::Kind::Free:
        free(cell_of(act));
        break;
      case Act::Kind::EmptyCache:
        ledger_.empty_cache();
        break;
      case Act::Kind::Load:
        libraries_ += bytes_of(act, card_.libraries);
        ledger_.load(act.code);
        if (act.code == DriverCode::Blas || act.code == DriverCode::BlasHandle) ++handles_;
        break;
    }
  }

  void drop(Cell& cell) {
    if (cell.state != Cell::State::Live) return;
    late_.holds = true;
    ledger_.free(kName, cell.category, cell.bytes, cell.block);
    late_.holds = false;
    cell.state = Cell::State::Dropped;
  }

  /// What was not there at such sizes is not freed either.
  void free(Cell& cell) {
    if (cell.state == Cell::State::Dropped) allocator_.free(cell.block);
    if (cell.state == Cell::State::Live) {
      ledger_.free(kName, cell.category, cell.bytes, cell.block);
    }
    cell.state = Cell::State::Free;
  }

  Cell& cell_of(const Act& act) {
    switch (act.whose) {
      case Act::Whose::ThisStep:
        return (*row_)[act.block];
      case Act::Whose::PreviousStep:
        return (*previous_)[act.block];
      case Act::Whose::NumberedStep:
        break;
    }
    return rows_[act.step][act.block];
  }

  void end_stage(bool out_of_memory) {
    if (!in_stage_) return;
    ledger_.end_stage(out_of_memory);
    in_stage_ = false;
    beside_.push_back(libraries_);
  }

  const RunTape& tape_;
  const Sizes& sizes_;
  const Card& card_;
  CachingAllocator& allocator_;
  LateAllocator& late_;
  Ledger& ledger_;
  std::vector<Row> rows_;  ///< of steps, and of two that repeat
  Row* previous_ = nullptr;
  Row* row_ = nullptr;
  bool in_stage_ = false;
  int handles_ = 0;  ///< of cuBLAS's that have no workspace yet
  std::uint64_t libraries_;
  std::vector<std::uint64_t> beside_;
};

}  // namespace

RunReport play(const RunTape& tape, const Sizes& sizes, const Card& card, std::uint64_t capacity,
               const Extent& extent) {
  const bool events = extent.detail.events;
  CachingAllocator allocator(capacity + extent.extra_capacity);
  LateAllocator late(allocator);
  Ledger ledger(late, Counts::Blocks, events);
  std::vector<SegmentChange> segments;
  if (events) {
    allocator.set_segment_observer([&](std::uint64_t offset, std::int64_t bytes) {
      segments.push_back({ledger.events().size(), offset, bytes});
    });
  }
  Player player(tape, sizes, card, allocator, late, ledger);
  RunReport report = report_on(ledger, [&] {
    const std::size_t recorded = tape.steps.size();
    for (std::size_t step = 0;; ++step) {
      if (step >= recorded && !tape.repeats) break;
      if (step > static_cast<std::size_t>(extent.steps)) break;
      const std::uint64_t changes = allocator.segment_changes();
      player.play(step);
      if (step == 0) continue;
      // One that left the segments as they were left all as it was: the next would be its copy.
      const bool repeats = step >= recorded && allocator.segment_changes() == changes;
      if (repeats && !events) break;
      if (step >= recorded - 1 && extent.stop_when && extent.stop_when(ledger)) break;
    }
  });
  report.cost = ledger.allocations();
  report.segments = std::move(segments);
  for (std::size_t i = 0; i < report.stages.size(); ++i) {
    report.stages[i].device_used = report.stages[i].reserved + player.beside()[i];
  }
  return report;
}

}  // namespace vramfit::recorded
