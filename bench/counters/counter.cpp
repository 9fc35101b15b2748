#include "bench/counters/counter.h"

#include <algorithm>
#include <map>

#include "model/memory/category.h"

namespace vramfit::bench {
namespace {

struct CounterRow {
  const char* names;
  Counter counter;
};

constexpr Counter kStated{};
/// Of all tensors at a moment, or of more than those.
constexpr Counter kTensors{.kind = Kind::Ledger, .range = Range::Positive};
constexpr Counter kDeviceUsed{.kind = Kind::DeviceUsed, .range = Range::Positive};
constexpr Counter kPart{.kind = Kind::DeviceUsed, .explains = true};
/// What is left of device used when all that is known is taken off may be less than nothing.
constexpr Counter kRemainder{.kind = Kind::DeviceUsed, .range = Range::Any, .explains = true};
constexpr Counter kFollows{.kind = Kind::Ledger};
constexpr Counter kLargest{.kind = Kind::Fact, .better = Better::More};
constexpr Counter kTime{.kind = Kind::Time};
constexpr Counter kRate{.kind = Kind::Time, .better = Better::More, .rank = Rank::Least};

constexpr CounterRow kTable[] = {
    {"{mem,pred,pytorch}_allocated", kTensors},
    {"{mem,pred,pytorch}_reserved", {.kind = Kind::Reserved, .range = Range::Positive}},
    {"{mem,pred,pytorch}_device_used", kDeviceUsed},
    {"{mem,pred,pytorch}_<category>", {.kind = Kind::Ledger, .explains = true}},
    {"{mem,pred,pytorch}_step{1,2}_<stage>_{after,peak}", kTensors},
    {"mem_step{1,2}_<stage>_device_used", kDeviceUsed},
    {"{mem,pred}_host", kFollows},
    {"mem_{context,cublaslt,cudnn,nccl}", kPart},
    {"mem_{modules,unattributed}", kRemainder},
    {"mem_sent", {.kind = Kind::DeviceUsed, .rank = Rank::Most}},
    {"pred_sent", {.kind = Kind::Ledger, .rank = Rank::Most}},
    {"{pred,pytorch}_cliff_{base,slope}", kFollows},
    {"{mem,pred}_kv_{bytes_per_token,waste}", kFollows},
    {"ledger_equal", {.kind = Kind::Fact, .better = Better::More, .rank = Rank::Least}},
    {"oom", {.kind = Kind::Fact, .rank = Rank::Most}},
    {"pred_oom", {.kind = Kind::Fact, .rank = Rank::Most}},
    {"{mem,pred,pytorch}_max_{batch,seq}", kLargest},
    {"exposed_seconds", {.kind = Kind::Time, .rank = Rank::Most}},
    {"bubble", {.kind = Kind::Time, .rank = Rank::Least}},
    {"pred_bubble", kTime},
    {"{tokens,prefill_tokens,decode_tokens,flops,bytes}_per_second", kRate},
    {"{seconds,bound_seconds,ops_seconds,issue_seconds,real_time}", kTime},
    {"of_bound", {.kind = Kind::Time, .better = Better::More}},
    {"{logits_error,trained_loss}", {.kind = Kind::Rounding}},
    {"trained_loss_fp32", kStated},
    {"{params,params_stored,params_trained,calls,bytes,flops}", kStated},
    {"article_{allocated,<category>,kv_bytes_per_token,max_batch}", kStated},
    {"article_step1_<stage>_after", kStated},
    {"{article_formula,article_formula_<category>}", kStated},
    // Rows `Overhead/…`, and of a process what they are made of.
    {"median", {.kind = Kind::DeviceUsed}},
    {"{min,max,processes}", kStated},
    {"{driver_reserved,context,cublaslt,cudnn,modules}", kStated},
};

/// For our own step, or for PyTorch.
bool is_predicted(const std::string& name) {
  return name.starts_with("pred_") || name.starts_with("pytorch_");
}

/// Appends what stands for a pattern's first choice, and so on for the rest.
void add_names(std::vector<std::string>& names, const std::string& pattern) {
  const std::size_t first = pattern.find_first_of("{<");
  if (first == std::string::npos) {
    names.push_back(pattern);
    return;
  }
  const bool listed = pattern[first] == '{';
  const std::size_t last = pattern.find(listed ? '}' : '>', first);
  const std::string inner = pattern.substr(first + 1, last - first - 1);
  const auto with = [&](const std::string& choice) {
    add_names(names, pattern.substr(0, first) + choice + pattern.substr(last + 1));
  };
  if (!listed) {
    if (inner == "category") {
      for (const char* category : kCategoryNames) with(category);
    } else {
      for (const char* stage : kLedgerStageNames) with(stage);
    }
    return;
  }
  for (std::size_t from = 0; from <= inner.size();) {
    const std::size_t comma = std::min(inner.find(',', from), inner.size());
    with(inner.substr(from, comma - from));
    from = comma + 1;
  }
}

const std::map<std::string, Counter>& table() {
  static const auto all = [] {
    std::map<std::string, Counter> counters;
    for (const CounterRow& row : kTable) {
      for (const std::string& name : names_of(row.names)) {
        Counter counter = row.counter;
        counter.predicted = is_predicted(name);
        counters.emplace(name, counter);
      }
    }
    return counters;
  }();
  return all;
}

}  // namespace

std::vector<std::string> counter_patterns() {
  std::vector<std::string> patterns;
  for (const CounterRow& row : kTable) patterns.emplace_back(row.names);
  return patterns;
}

std::vector<std::string> names_of(const std::string& pattern) {
  std::vector<std::string> names;
  add_names(names, pattern);
  return names;
}

bool is_counter(const std::string& name) { return table().contains(name); }

Counter counter_called(const std::string& name) {
  const auto known = table().find(name);
  if (known != table().end()) return known->second;
  Counter unknown;
  unknown.predicted = is_predicted(name);
  if (unknown.predicted || name.starts_with("mem_")) unknown.kind = Kind::Ledger;
  return unknown;
}

bool is_bytes(Kind kind) {
  return kind == Kind::Ledger || kind == Kind::Reserved || kind == Kind::DeviceUsed;
}

bool is_whole(Kind kind) { return is_bytes(kind) || kind == Kind::Fact; }

}  // namespace vramfit::bench
