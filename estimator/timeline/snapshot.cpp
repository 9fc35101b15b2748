#include "estimator/timeline/snapshot.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "estimator/timeline/history.h"
#include "estimator/timeline/pickle_writer.h"
#include "model/printable.h"

// The form follows torch/csrc/cuda/memory_snapshot.cpp and torch/cuda/memory.py, PyTorch 2.11.
namespace vramfit {
namespace {

/// Where a device's addresses begin; memory_viz keeps them in doubles, which are exact up to 2^53.
constexpr std::int64_t kFirstAddress = 0x7f0000000000;

/// PyTorch's small segments have this size and no other; its large ones have never.
constexpr std::uint64_t kSmallSegment = std::uint64_t{2} << 20;

class SnapshotWriter {
 public:
  explicit SnapshotWriter(const Timeline& timeline)
      : timeline_(timeline),
        events_(timeline.ledger.events),
        history_(history_of(timeline.ledger)),
        title_(printable(timeline.title)) {
    lowest_ = ~std::uint64_t{0};
    for (const SegmentChange& change : history_.segments) {
      lowest_ = std::min(lowest_, change.offset);
    }
  }

  std::string write() {
    out_.open_dict();
    segments();
    key("device_traces");
    out_.open_list();
    trace();
    out_.close();
    settings();
    annotations();
    out_.close();
    return out_.take();
  }

 private:
  void key(const char* name) { out_.text(name); }
  void entry(const char* name, std::uint64_t value) {
    key(name);
    out_.integer(static_cast<std::int64_t>(value));
  }
  void entry(const char* name, const std::string& value) {
    key(name);
    out_.text(value);
  }
  void flag(const char* name, bool value) {
    key(name);
    out_.boolean(value);
  }
  std::uint64_t address(std::uint64_t offset) const { return kFirstAddress + (offset - lowest_); }

  /// "forward of step 2".
  std::string stage_of(const KeptEvent& e) const {
    return std::string(name(e.stage)) + " of step " + std::to_string(e.step);
  }

  void frame(const std::string& filename, int line, const std::string& function) {
    out_.open_dict();
    entry("name", function);
    entry("filename", filename);
    key("line");
    out_.integer(line);
    out_.close();
  }

  /// As a stack, innermost first: the tensor, the stage it was born in, the run.
  void frames(const KeptEvent& birth, const std::string& tensor, Category category) {
    key("frames");
    const auto stack = std::make_tuple(tensor, category, birth.stage, birth.step);
    if (const auto known = stacks_.find(stack); known != stacks_.end()) {
      return out_.again(known->second);
    }
    out_.open_list();
    frame(name(category), 0, tensor);
    frame(name(birth.stage), birth.step, "step " + std::to_string(birth.step));
    frame("vramfit", 0, title_);
    out_.close();
    stacks_.emplace(stack, out_.remember());
  }
  void frames(const Allocation& a) { frames(events_[a.born], a.name, a.category); }
  void no_frames() {
    key("frames");
    out_.open_list();
    out_.close();
  }

  void segments() {
    key("segments");
    out_.open_list();
    for (const PlacedSegment& segment : segments_at_end(timeline_.ledger, history_)) {
      out_.open_dict();
      sizes(segment);
      entry("device", 0);
      entry("address", address(segment.offset));
      entry("total_size", segment.bytes);
      entry("stream", 0);
      const bool small = !history_.one_range && segment.bytes == kSmallSegment;
      entry("segment_type", std::string(small ? "small" : "large"));
      key("segment_pool_id");
      out_.pair(0, 0);
      flag("is_expandable", history_.one_range);
      no_frames();
      key("blocks");
      out_.open_list();
      for (const PlacedBlock& placed : segment.blocks) block(placed);
      out_.close();
      out_.close();
    }
    out_.close();
  }

  void sizes(const PlacedSegment& segment) {
    std::uint64_t allocated = 0;
    std::uint64_t requested = 0;
    for (const PlacedBlock& block : segment.blocks) {
      if (block.allocation == History::kNone) continue;
      allocated += block.bytes;
      requested += requested_by(history_.allocations[block.allocation]);
    }
    entry("allocated_size", allocated);
    entry("active_size", allocated);
    entry("requested_size", requested);
  }

  std::uint64_t requested_by(const Allocation& a) const { return events_[a.born].requested; }

  void block(const PlacedBlock& placed) {
    out_.open_dict();
    entry("address", address(placed.offset));
    entry("size", placed.bytes);
    if (placed.allocation == History::kNone) {
      entry("requested_size", 0);
      entry("state", std::string("inactive"));
      no_frames();
    } else {
      const Allocation& a = history_.allocations[placed.allocation];
      entry("requested_size", requested_by(a));
      entry("state", std::string("active_allocated"));
      frames(a);
    }
    out_.close();
  }

  void trace() {
    out_.open_list();
    auto segment = history_.segments.begin();
    for (std::size_t i = 0; i < history_.events; ++i) {
      for (; segment != history_.segments.end() && segment->event == i; ++segment) {
        trace_segment(*segment);
      }
      const KeptEvent& e = events_[i];
      if (e.kind == Event::Kind::OutOfMemory) trace_out_of_memory(e, i);
      if (history_.whose[i] == History::kNone) continue;
      const Allocation& a = history_.allocations[history_.whose[i]];
      if (e.kind == Event::Kind::Allocate) trace_birth(a, i);
      if (e.kind == Event::Kind::Free) {
        trace_death("free_requested", a, i);
        trace_death("free_completed", a, i);
      }
    }
    out_.close();
  }

  void begin_entry(const char* action, std::uint64_t bytes, std::size_t event) {
    out_.open_dict();
    entry("action", std::string(action));
    entry("size", bytes);
    entry("stream", 0);
    entry("time_us", event);
    entry("compile_context", std::string("N/A"));
    entry("user_metadata", stage_of(events_[event]));
  }

  void trace_segment(const SegmentChange& change) {
    const bool taken = change.bytes > 0;
    begin_entry(history_.one_range ? (taken ? "segment_map" : "segment_unmap")
                                   : (taken ? "segment_alloc" : "segment_free"),
                static_cast<std::uint64_t>(taken ? change.bytes : -change.bytes), change.event);
    entry("addr", address(change.offset));
    // memory_viz has this category for what has none, and some versions of it fail without it.
    entry("category", std::string("unknown"));
    no_frames();
    out_.close();
  }

  void trace_birth(const Allocation& a, std::size_t event) {
    begin_entry("alloc", a.counted_bytes, event);
    entry("addr", address(events_[event].offset));
    entry("requested_size", requested_by(a));
    entry("category", std::string(name(a.category)));
    frames(a);
    out_.close();
  }

  void trace_death(const char* action, const Allocation& a, std::size_t event) {
    begin_entry(action, a.counted_bytes, event);
    entry("addr", address(events_[event].offset));
    frames(a);
    out_.close();
  }

  void trace_out_of_memory(const KeptEvent& e, std::size_t event) {
    begin_entry("oom", e.bytes, event);
    entry("device_free", timeline_.capacity - std::min(timeline_.capacity, e.reserved));
    frames(e, e.name, e.category);
    out_.close();
  }

  /// PyTorch's defaults, which is what is modelled.
  void settings() {
    key("allocator_settings");
    out_.open_dict();
    entry("PYTORCH_CUDA_ALLOC_CONF", std::string());
    key("max_split_size");
    out_.integer(-1);
    key("garbage_collection_threshold");
    out_.real(0);
    flag("expandable_segments", history_.one_range);
    flag("trace_alloc_overflowed", false);
    out_.close();
  }

  void annotations() {
    key("external_annotations");
    out_.open_list();
    for (std::size_t i = 0; i < history_.events; ++i) {
      const KeptEvent& e = events_[i];
      const bool begins = e.kind == Event::Kind::StageBegin;
      if (!begins && e.kind != Event::Kind::StageEnd) continue;
      out_.open_dict();
      entry("name", stage_of(e));
      entry("stage", std::string(begins ? "START" : "END"));
      entry("device", 0);
      entry("time_us", i);
      out_.close();
    }
    out_.close();
  }

  const Timeline& timeline_;
  const std::vector<KeptEvent>& events_;
  const History history_;
  const std::string title_;
  std::uint64_t lowest_;
  std::map<std::tuple<std::string, Category, Stage, int>, PickleWriter::Reference> stacks_;
  PickleWriter out_;
};

}  // namespace

std::string memory_snapshot(const Timeline& timeline) { return SnapshotWriter(timeline).write(); }

}  // namespace vramfit
