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
  enum class Kind : std::uint8_t { StageBegin, StageEnd, Allocate, Free, OutOfMemory };
  Kind kind;
  Stage stage;        ///< the stage it falls in
  Category category;  ///< of the tensor; Parameters on stage events
  int step;           ///< from 1; 0 before the first
  Name name;
  std::uint64_t bytes;     ///< the tensor's, declared padding included
  std::uint64_t offset;    ///< where the allocator put it; 0 on stage events and on OutOfMemory
  std::uint64_t reserved;  ///< what the allocator had taken once it was done

  friend bool operator==(const Event& a, const Event& b) {
    return a.kind == b.kind && a.stage == b.stage && a.category == b.category && a.step == b.step &&
           a.name == b.name && a.bytes == b.bytes && a.offset == b.offset &&
           a.reserved == b.reserved;
  }
  std::string text() const;
};

/// All categories at one moment: their own peaks do not add up, these do.
struct Snapshot {
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
  bool out_of_memory;  ///< it ended because memory did
  // Where what is reserved can shrink, and what the card lost is known stage by stage: PyTorch's
  // runs. 0 elsewhere.
  std::uint64_t peak_reserved = 0;
  std::uint64_t device_used = 0;  ///< at its end, libraries included
};

/// Told as stages begin and end: to synchronise, to time, to ask the card what it lost.
class StageObserver {
 public:
  virtual ~StageObserver() = default;
  virtual void stage_begins(Stage /*stage*/, int /*step*/) {}
  virtual void stage_ends(const StageRecord& /*record*/) {}
};

/// Writes down every allocation and free with its category and stage, and passes it on.
class Ledger {
 public:
  /// `allocator` must outlive the ledger.
  explicit Ledger(Allocator& allocator) : allocator_(allocator) { events_.reserve(1 << 12); }
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  /// Throws OutOfMemory, with an event that says so.
  Block allocate(const Name& name, Category category, std::uint64_t bytes);
  void free(const Name& name, Category category, std::uint64_t bytes, const Block& block) noexcept;

  /// Stages do not nest. A stage that an exception ends is recorded as out of memory.
  void begin_stage(Stage stage, int step);
  void end_stage(bool out_of_memory = false);

  /// Must outlive the ledger or be taken away with null.
  void set_observer(StageObserver* observer) { observer_ = observer; }

  std::uint64_t allocated() const { return current_.allocated; }
  const CategoryBytes& by_category() const { return current_.by_category; }
  std::uint64_t reserved() const { return allocator_.reserved(); }

  const Snapshot& peak() const { return peak_; }
  const std::vector<Event>& events() const { return events_; }
  const std::vector<StageRecord>& stages() const { return stages_; }

 private:
  void record(Event::Kind kind, const Name& name, Category category, std::uint64_t bytes,
              std::uint64_t offset);

  Allocator& allocator_;
  StageObserver* observer_ = nullptr;
  std::vector<Event> events_;
  std::vector<StageRecord> stages_;
  Snapshot current_;
  Snapshot peak_;
  std::uint64_t stage_before_ = 0;
  std::uint64_t stage_peak_ = 0;
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
