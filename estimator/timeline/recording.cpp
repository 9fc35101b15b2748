#include "estimator/timeline/recording.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "estimator/timeline/pickle_reader.h"
#include "model/errors.h"
#include "model/printable.h"
#include "model/text_file.h"

namespace vramfit {
namespace {

constexpr std::size_t kMostBytes = std::size_t{512} << 20;
constexpr std::size_t kShownRecordingPath = 40;
constexpr std::size_t kShownLine = 80;

/// Entries of a trace and segments, and bytes of each: beyond what is recorded, and their sums fit.
constexpr std::size_t kMostEntries = std::size_t{1} << 20;
constexpr std::int64_t kMostSize = std::int64_t{1} << 40;

class Reader {
 public:
  explicit Reader(std::string bytes) : pickle_(std::move(bytes)) {}

  Recording read() {
    const Pickle::List& segments = list_of(pickle_.root(), "segments");
    const std::size_t device = device_recorded();
    const Pickle::List& trace = *pickle_.list(traces()[device]);
    check_length(trace);
    start(trace);
    read_segments(segments, device);
    result_.from_start = result_.allocations.size();
    for (std::size_t i = 0; i < trace.size(); ++i) entry(trace[i], i);
    if (!any_known_) {
      throw BadInput("of its " + std::to_string(trace.size()) +
                     " entries none is an allocation, a free or a segment");
    }
    // What was reserved before the first event is what the last leaves, less what was added.
    result_.peak_reserved =
        static_cast<std::uint64_t>(std::max<std::int64_t>(0, reserved_ - change_ + most_change_));
    if (const PickleValue* settings = pickle_.find(pickle_.root(), "allocator_settings")) {
      const PickleValue* flag = pickle_.find(*settings, "trace_alloc_overflowed");
      result_.overflowed =
          flag != nullptr && flag->kind == PickleValue::Kind::Boolean && flag->integer != 0;
    }
    return std::move(result_);
  }

 private:
  const Pickle::List& list_of(const PickleValue& dict, const char* key) const {
    const PickleValue* value = pickle_.find(dict, key);
    const Pickle::List* list = value == nullptr ? nullptr : pickle_.list(*value);
    if (list == nullptr) throw BadInput(std::string("it has no list '") + key + "'");
    check_length(*list);
    return *list;
  }
  static void check_length(const Pickle::List& list) {
    if (list.size() <= kMostEntries) return;
    throw BadInput("it has a list of " + std::to_string(list.size()) + " entries; at most " +
                   std::to_string(kMostEntries) + ": record fewer steps");
  }
  const Pickle::List& traces() const { return list_of(pickle_.root(), "device_traces"); }

  /// The one with most entries.
  std::size_t device_recorded() {
    std::size_t best = 0;
    std::size_t most = 0;
    int recorded = 0;
    const Pickle::List& all = traces();
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Pickle::List* trace = pickle_.list(all[i]);
      if (trace == nullptr || trace->empty()) continue;
      ++recorded;
      if (trace->size() > most) {
        best = i;
        most = trace->size();
      }
    }
    if (most == 0) {
      throw BadInput("no history was recorded; torch.cuda.memory._record_memory_history() first");
    }
    if (recorded > 1) {
      result_.notes.push_back("of " + std::to_string(recorded) +
                              " devices with a history, device " + std::to_string(best) +
                              " is compared");
    }
    return best;
  }

  std::int64_t number(const PickleValue& dict, const char* key, std::int64_t most) const {
    const PickleValue* value = pickle_.find(dict, key);
    if (value == nullptr || value->kind != PickleValue::Kind::Integer) {
      throw BadInput(std::string("an entry has no number '") + key + "'");
    }
    if (value->integer < 0 || value->integer > most) {
      throw BadInput(std::string("an entry's '") + key + "' is " + std::to_string(value->integer) +
                     "; 0 to " + std::to_string(most));
    }
    return value->integer;
  }
  std::int64_t size_of(const PickleValue& dict, const char* key = "size") const {
    return number(dict, key, kMostSize);
  }
  std::int64_t address_of(const PickleValue& dict, const char* key) const {
    return number(dict, key, std::int64_t{1} << 62);
  }
  std::string_view text_of(const PickleValue& dict, const char* key) const {
    const PickleValue* value = pickle_.find(dict, key);
    return value == nullptr ? std::string_view() : pickle_.text(*value).value_or("");
  }

  /// Blocks that the trace frees and nothing in it allocates.
  void start(const Pickle::List& trace) {
    std::unordered_set<std::int64_t> live;
    for (const PickleValue& value : trace) {
      const std::string_view action = text_of(value, "action");
      if (action == "alloc") live.insert(address_of(value, "addr"));
      if (action != "free_completed") continue;
      const std::int64_t address = address_of(value, "addr");
      if (live.erase(address) == 0) was_there(address, size_of(value), value);
    }
    ends_with_ = std::move(live);
  }

  /// Blocks in use that the trace does not allocate, and what is reserved in the end.
  void read_segments(const Pickle::List& segments, std::size_t device) {
    std::size_t visited = 0;
    for (const PickleValue& segment : segments) {
      const PickleValue* of = pickle_.find(segment, "device");
      const bool other = of != nullptr && of->kind == PickleValue::Kind::Integer &&
                         of->integer != static_cast<std::int64_t>(device);
      if (other) continue;
      reserved_ += size_of(segment, "total_size");
      std::int64_t address = address_of(segment, "address");
      for (const PickleValue& block : list_of(segment, "blocks")) {
        if (++visited > Pickle::kMostValues) throw BadInput("its segments have too many blocks");
        const std::string_view state = text_of(block, "state");
        const bool in_use = state.starts_with("active");
        if (in_use && ends_with_.count(address) == 0 && live_.count(address) == 0) {
          const bool has_requested = pickle_.find(block, "requested_size") != nullptr;
          was_there(address, size_of(block, has_requested ? "requested_size" : "size"), block);
        }
        address += size_of(block);
      }
    }
  }

  void was_there(std::int64_t address, std::int64_t bytes, const PickleValue& value) {
    // A block that is freed and one that is used again later may be at one address.
    live_.try_emplace(address, result_.allocations.size());
    result_.allocations.push_back({static_cast<std::uint64_t>(bytes), stack_of(value)});
  }

  void entry(const PickleValue& value, std::size_t index) {
    const std::string_view action = text_of(value, "action");
    if (action.empty()) {
      throw BadInput("entry " + std::to_string(index) + " of its trace has no 'action'");
    }
    if (action == "alloc") {
      allocate(value);
    } else if (action == "free_completed") {
      const auto found = live_.find(address_of(value, "addr"));
      if (found == live_.end()) return;
      result_.events.push_back({false, found->second});
      live_.erase(found);
    } else if (action == "segment_alloc" || action == "segment_map") {
      reserve(size_of(value));
    } else if (action == "segment_free" || action == "segment_unmap") {
      reserve(-size_of(value));
    } else if (action == "oom") {
      result_.out_of_memory = true;
    } else {
      return;
    }
    any_known_ = true;
  }

  void allocate(const PickleValue& value) {
    const std::int64_t address = address_of(value, "addr");
    const bool has_requested = pickle_.find(value, "requested_size") != nullptr;
    const std::int64_t bytes = size_of(value, has_requested ? "requested_size" : "size");
    live_[address] = result_.allocations.size();
    result_.events.push_back({true, result_.allocations.size()});
    result_.allocations.push_back({static_cast<std::uint64_t>(bytes), stack_of(value)});
  }

  void reserve(std::int64_t bytes) {
    change_ += bytes;
    most_change_ = std::max(most_change_, change_);
  }

  std::size_t stack_of(const PickleValue& value) {
    const PickleValue* frames = pickle_.find(value, "frames");
    if (frames == nullptr || frames->kind != PickleValue::Kind::List) return no_stack();
    const auto [known, is_new] = stacks_.try_emplace(frames->index, result_.stacks.size());
    if (is_new) result_.stacks.push_back(innermost(*pickle_.list(*frames)));
    return known->second;
  }
  std::size_t no_stack() {
    if (!no_stack_) {
      no_stack_ = result_.stacks.size();
      result_.stacks.emplace_back();
    }
    return *no_stack_;
  }

  /// The innermost line of Python that belongs to no installed package; else the innermost of all.
  std::string innermost(const Pickle::List& frames) const {
    const PickleValue* best = nullptr;
    for (const PickleValue& frame : frames) {
      const std::string_view file = text_of(frame, "filename");
      if (!file.ends_with(".py")) continue;
      if (best == nullptr) best = &frame;
      if (file.find("site-packages") != std::string_view::npos ||
          file.find("dist-packages") != std::string_view::npos) {
        continue;
      }
      best = &frame;
      break;
    }
    if (best == nullptr) return "";
    const std::string_view file = text_of(*best, "filename");
    const PickleValue* line = pickle_.find(*best, "line");
    std::string text(file.substr(file.rfind('/') + 1));
    if (line != nullptr && line->kind == PickleValue::Kind::Integer) {
      text += ":" + std::to_string(line->integer);
    }
    return shortened(text + " in " + std::string(text_of(*best, "name")), kShownLine);
  }

  const Pickle pickle_;
  Recording result_;
  std::unordered_map<std::int64_t, std::size_t> live_;  ///< allocations that live, by address
  std::unordered_set<std::int64_t> ends_with_;  ///< addresses that the trace leaves allocated
  std::unordered_map<std::uint32_t, std::size_t> stacks_;  ///< by the list of frames
  std::optional<std::size_t> no_stack_;
  bool any_known_ = false;        ///< an entry whose action counts
  std::int64_t reserved_ = 0;     ///< in the end
  std::int64_t change_ = 0;       ///< over the trace
  std::int64_t most_change_ = 0;  ///< over a part of it that begins it
};

}  // namespace

Recording recording_of(std::string pickle) { return Reader(std::move(pickle)).read(); }

Recording read_recording(const std::string& path) {
  return recording_of(
      read_text_file(path, "verify", "a file that torch.cuda.memory._dump_snapshot wrote",
                     kMostBytes),
      path);
}

Recording recording_of(std::string pickle, const std::string& called) {
  try {
    return recording_of(std::move(pickle));
  } catch (const BadInput& error) {
    throw BadInput("verify: '" + one_line(called, kShownRecordingPath) +
                   "' is no memory snapshot of PyTorch: " + error.what());
  }
}

}  // namespace vramfit
