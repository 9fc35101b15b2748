#include "estimator/timeline/trace.h"

#include <nlohmann/json.hpp>
#include <unordered_map>

#include "estimator/timeline/history.h"
#include "model/printable.h"

namespace vramfit {
namespace {

using Json = nlohmann::ordered_json;
using Kind = Event::Kind;

class TraceWriter {
 public:
  TraceWriter(const KeptLedger& ledger, std::uint64_t beside) : ledger_(ledger), beside_(beside) {}

  void events() {
    const std::size_t count = history_of(ledger_).events;
    for (std::size_t i = 0; i < count; ++i) event(ledger_.events[i], i);
  }

  void add(const Json& json) { out_ += (out_.empty() ? "" : ",\n") + json.dump(); }

  const std::string& text() const { return out_; }

 private:
  void event(const KeptEvent& e, std::size_t time) {
    switch (e.kind) {
      case Kind::StageBegin:
        stage_began_ = time;
        break;
      case Kind::StageEnd:
        stage(e, time);
        break;
      case Kind::OutOfMemory:
        out_of_memory(e, time);
        break;
      case Kind::Allocate:
        categories_[e.offset] = e.category;
        change(e.category, e.bytes, true, time);
        levels(e, allocated_ += e.bytes, time);
        break;
      case Kind::Free:
        change(e.category, e.bytes, false, time);
        levels(e, allocated_ -= e.bytes, time);
        break;
      case Kind::Relabel:
        change(categories_[e.offset], e.bytes, false, time);
        categories_[e.offset] = e.category;
        change(e.category, e.bytes, true, time);
        break;
    }
  }

  /// Written by hand: there are two for each event, of numbers and names that need no escapes.
  void counter(const std::string& name, std::uint64_t bytes, std::size_t time) {
    out_ += std::string(out_.empty() ? "" : ",\n") + R"({"ph":"C","pid":1,"name":")" + name +
            R"(","ts":)" + std::to_string(time) + R"(,"args":{"bytes":)" + std::to_string(bytes) +
            "}}";
  }

  void change(Category category, std::uint64_t bytes, bool more, std::size_t time) {
    std::uint64_t& sum = by_category_[category];
    sum = more ? sum + bytes : sum - bytes;
    counter(name(category), sum, time);
  }

  void levels(const KeptEvent& e, std::uint64_t allocated, std::size_t time) {
    counter("allocated", allocated, time);
    if (e.reserved == reserved_) return;
    reserved_ = e.reserved;
    counter("reserved", reserved_, time);
    counter("device used", reserved_ + beside_, time);
  }

  void stage(const KeptEvent& e, std::size_t time) {
    add({{"ph", "X"},
         {"pid", 1},
         {"tid", 1},
         {"name", name(e.stage)},
         {"ts", stage_began_},
         {"dur", time - stage_began_},
         {"args", {{"step", e.step}}}});
  }

  /// The stage's end is beyond it.
  void out_of_memory(const KeptEvent& e, std::size_t time) {
    stage(e, time);
    add({{"ph", "i"},
         {"pid", 1},
         {"tid", 1},
         {"s", "g"},
         {"name", "out of memory"},
         {"ts", time},
         {"args",
          {{"requested", e.bytes}, {"reserved", e.reserved}, {"category", name(e.category)}}}});
  }

  const KeptLedger& ledger_;
  const std::uint64_t beside_;
  std::string out_;
  CategoryBytes by_category_;
  std::unordered_map<std::uint64_t, Category> categories_;  ///< of what lives, by offset
  std::uint64_t allocated_ = 0;
  std::uint64_t reserved_ = 0;
  std::size_t stage_began_ = 0;
};

}  // namespace

std::string chrome_trace(const Timeline& timeline) {
  const std::string title = printable(timeline.title);
  TraceWriter writer(timeline.ledger, timeline.beside);
  writer.add({{"ph", "M"}, {"pid", 1}, {"name", "process_name"}, {"args", {{"name", title}}}});
  writer.add({{"ph", "M"},
              {"pid", 1},
              {"tid", 1},
              {"name", "thread_name"},
              {"args", {{"name", "stages"}}}});
  writer.events();
  const Json about = {{"title", title},
                      {"time", "1 us is one event of the ledger; nothing was timed"},
                      {"bytes",
                       "what tensors take (allocated), what the allocator holds for them "
                       "(reserved), and context and libraries beside it (device used)"}};
  return "{\"displayTimeUnit\":\"ns\",\"otherData\":" + about.dump() + ",\n\"traceEvents\":[\n" +
         writer.text() + "\n]}\n";
}

}  // namespace vramfit
