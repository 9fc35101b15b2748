#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/memory/allocator.h"
#include "model/memory/category.h"
#include "model/memory/name.h"

namespace vramfit {

/// One line of a ledger.
struct Event {
  enum class Kind : std::uint8_t { StageBegin, StageEnd, Allocate, Free, OutOfMemory, Relabel };
  Kind kind;
  Stage stage;        ///< the stage it falls in
  Category category;  ///< of the tensor, from now on; Parameters on stage events
  int step;           ///< from 1; 0 before the first
  Name name;
  std::uint64_t bytes;     ///< as the ledger counts them
  std::uint64_t offset;    ///< where the allocator put it; 0 on stage events and on OutOfMemory
  std::uint64_t reserved;  ///< what the allocator had taken once it was done
  std::uint64_t requested = 0;  ///< what an allocation asked for; 0 on other events

  friend bool operator==(const Event& a, const Event& b) {
    return a.kind == b.kind && a.stage == b.stage && a.category == b.category && a.step == b.step &&
           a.name == b.name && a.bytes == b.bytes && a.offset == b.offset &&
           a.reserved == b.reserved && a.requested == b.requested;
  }
  std::string text() const;
};

/// All categories at one moment: their own peaks do not add up, these do.
struct MemoryUse {
  std::uint64_t allocated = 0;
  CategoryBytes by_category;
  Stage stage = Stage::Outside;
  int step = 0;
};

/// One stage that ended. Bytes; `before`, `after` and `peak` are allocated ones.
struct StageRecord {
  Stage stage;
  int step;
  std::uint64_t before;
  std::uint64_t after;
  std::uint64_t peak;
  std::uint64_t reserved;  ///< by the allocator when it ended
  CategoryBytes at_end;
  bool out_of_memory;           ///< it ended because memory did
  std::uint64_t peak_reserved;  ///< by the allocator, at most
  /// What the card had lost at its end, context and libraries included; 0 until a runtime says.
  std::uint64_t device_used = 0;
  /// What lies in managed memory, which the driver moves to the host where others need the room:
  /// the estimate, which knows the card, adds to device_used what there is room for.
  std::uint64_t managed = 0;
};

/// An allocation that could not be had.
struct MissingMemory {
  Name name;
  Category category;
  Stage stage;  ///< the last that began
  int step;
  std::uint64_t requested;  ///< bytes
};

/// Told what happens as it does. Stages: to synchronise, to time, to ask the card what it lost.
/// Requests: to make them again.
class LedgerObserver {
 public:
  virtual ~LedgerObserver() = default;
  virtual void stage_begins(Stage /*stage*/, int /*step*/) {}
  virtual void stage_ends(const StageRecord& /*record*/) {}
  virtual void allocated(const Name&, Category, std::uint64_t /*bytes*/, const Block&) {}
  virtual void freed(const Block&) noexcept {}
};

/// What a ledger counts as allocated.
enum class Counts : std::uint8_t {
  Requested,  ///< what was asked for: a tensor's bytes, declared padding included
  Blocks,     ///< what the allocator gave, rounded up: torch.cuda.memory_allocated()
};

/// Writes down every allocation and free with its category and stage, and passes it on. What a run
/// keeps in the host's memory is in a ledger of its own beside it, with the same stages.
class Ledger {
 public:
  /// `allocator` must outlive the ledger. Without events it keeps stages, peaks and what is
  /// missing.
  explicit Ledger(Allocator& allocator, Counts counts = Counts::Requested, bool keeps_events = true)
      : allocator_(allocator), counts_(counts), keeps_events_(keeps_events) {
    if (keeps_events_) events_.reserve(1 << 12);
  }
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  /// Throws OutOfMemory, with an event that says so.
  Block allocate(const Name& name, Category category, std::uint64_t bytes);
  /// `bytes`: as asked for.
  void free(const Name& name, Category category, std::uint64_t bytes, const Block& block) noexcept;
  /// What the block holds is known to be something else now: a gradient is one once it is kept.
  void relabel(const Name& name, Category from, Category to, std::uint64_t bytes,
               const Block& block);

  /// The allocator gives back what it keeps and nobody uses.
  void empty_cache() { allocator_.empty_cache(); }
  void load(DriverCode code) { allocator_.load(code); }

  /// The ledger of the host's memory. Must outlive this one or be taken away with null.
  void set_host(Ledger* host) { host_ = host; }
  const Ledger* host() const { return host_; }
  /// This one or the host's, which must be there.
  Ledger& of(MemorySpace space);
  /// Bytes that there can be at most.
  std::uint64_t capacity() const { return allocator_.capacity(); }

  /// Stages do not nest. A stage that an exception ends is recorded as out of memory.
  void begin_stage(Stage stage, int step);
  void end_stage(bool out_of_memory = false);

  /// Must outlive the ledger or be taken away with null.
  void set_observer(LedgerObserver* observer) { observer_ = observer; }

  std::uint64_t allocated() const { return current_.allocated; }
  const CategoryBytes& by_category() const { return current_.by_category; }
  std::uint64_t reserved() const { return allocator_.reserved(); }

  const MemoryUse& peak() const { return peak_; }
  /// The first allocation that could not be had, if any.
  const std::optional<MissingMemory>& missing() const { return missing_; }
  const std::vector<Event>& events() const { return events_; }
  /// So far, those that failed too; not those that were not written down.
  std::uint64_t allocations() const { return allocations_; }
  const std::vector<StageRecord>& stages() const { return stages_; }

 private:
  Block place(const Name& name, Category category, std::uint64_t bytes);
  void record(Event::Kind kind, const Name& name, Category category, std::uint64_t bytes,
              std::uint64_t offset, std::uint64_t requested = 0) {
    if (keeps_events_ && recording_) write_down(kind, name, category, bytes, offset, requested);
  }
  void write_down(Event::Kind kind, const Name& name, Category category, std::uint64_t bytes,
                  std::uint64_t offset, std::uint64_t requested);
  std::uint64_t counted(std::uint64_t bytes, const Block& block) const {
    return counts_ == Counts::Blocks ? block.bytes : bytes;
  }

  Allocator& allocator_;
  const Counts counts_;
  const bool keeps_events_;
  friend class UnrecordedScope;

  bool recording_ = true;
  LedgerObserver* observer_ = nullptr;
  Ledger* host_ = nullptr;
  std::vector<Event> events_;
  std::vector<StageRecord> stages_;
  std::uint64_t allocations_ = 0;
  MemoryUse current_;
  MemoryUse peak_;
  std::uint64_t stage_before_ = 0;
  std::uint64_t stage_peak_ = 0;
  std::uint64_t stage_peak_reserved_ = 0;
  Stage last_stage_ = Stage::Outside;  ///< the last that began
  std::optional<MissingMemory> missing_;
};

/// While one lives, what is allocated and freed is not written down: it was before.
class UnrecordedScope {
 public:
  explicit UnrecordedScope(Ledger& ledger) : ledger_(ledger) { ledger_.recording_ = false; }
  ~UnrecordedScope() { ledger_.recording_ = true; }
  UnrecordedScope(const UnrecordedScope&) = delete;
  UnrecordedScope& operator=(const UnrecordedScope&) = delete;

 private:
  Ledger& ledger_;
};

/// A stage as a scope, so that it ends also where memory does.
class StageScope {
 public:
  StageScope(Ledger& ledger, Stage stage, int step);
  ~StageScope();
  StageScope(const StageScope&) = delete;
  StageScope& operator=(const StageScope&) = delete;

 private:
  Ledger& ledger_;
  int exceptions_;
};

/// Where two ledgers first differ, as one line for a person; nothing where they are equal.
std::optional<std::string> first_difference(const std::vector<Event>& a,
                                            const std::vector<Event>& b);

}  // namespace vramfit
