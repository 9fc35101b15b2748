#include "bench/compare/counter.h"

#include <algorithm>
#include <iterator>

#include "model/memory/category.h"

namespace vramfit::bench::compare {
namespace {

/// What a process has beside its pool.
constexpr const char* kBeside[] = {"mem_context", "mem_cublaslt", "mem_cudnn",
                                   "mem_nccl",    "mem_modules",  "mem_unattributed"};

bool is_part(const std::string& name) {
  return std::find(std::begin(kBeside), std::end(kBeside), name) != std::end(kBeside);
}

bool is_time(const std::string& name) {
  return name.ends_with("seconds") || name.ends_with("_per_second") || name == "real_time" ||
         name == "of_bound" || name.ends_with("bubble");
}

/// For our own step, or for PyTorch.
bool is_predicted(const std::string& name) {
  return name.starts_with("pred_") || name.starts_with("pytorch_");
}

Counter meaning_of(const std::string& name) {
  if (name == "ledger_equal") return {Kind::Fact, Better::More};
  if (name == "oom" || name == "pred_oom") return {Kind::Fact, Better::Less};
  if (is_time(name)) {
    const bool rate = name.ends_with("_per_second") || name == "of_bound";
    return {Kind::Time, rate ? Better::More : Better::Less};
  }
  if (name == "logits_error" || name == "trained_loss") return {Kind::Rounding, Better::Less};
  if (name == "median" || name == "mem_sent" || is_part(name))
    return {Kind::DeviceUsed, Better::Less};
  if (!name.starts_with("mem_") && !is_predicted(name)) return {};
  if (name.ends_with("max_batch") || name.ends_with("max_seq")) return {Kind::Fact, Better::More};
  if (name.ends_with("device_used")) return {Kind::DeviceUsed, Better::Less};
  return {name.ends_with("_reserved") ? Kind::Reserved : Kind::Ledger, Better::Less};
}

/// "mem_activations", "pred_kv_cache".
bool is_category(const std::string& name) {
  const std::string called = name.substr(std::min(name.find('_'), name.size() - 1) + 1);
  return std::find(kCategoryNames.begin(), kCategoryNames.end(), called) != kCategoryNames.end();
}

/// What is left of device used when all that is known is taken off may be less than nothing.
bool is_remainder(const std::string& name) {
  return name == "mem_unattributed" || name == "mem_modules";
}

/// "mem_allocated", "pred_step1_forward_peak": of all tensors at a moment, or of more than those.
bool is_level(const std::string& name) {
  constexpr const char* kEnds[] = {"_allocated", "_reserved", "_device_used", "_after", "_peak"};
  return std::any_of(std::begin(kEnds), std::end(kEnds),
                     [&](const char* end) { return name.ends_with(end); });
}

}  // namespace

Counter counter_called(const std::string& name) {
  Counter counter = meaning_of(name);
  counter.predicted = is_predicted(name);
  counter.explains = is_part(name) || (counter.kind == Kind::Ledger && is_category(name));
  if (is_remainder(name)) counter.range = Range::Any;
  if (is_bytes(counter.kind) && is_level(name)) counter.range = Range::Positive;
  return counter;
}

bool is_bytes(Kind kind) {
  return kind == Kind::Ledger || kind == Kind::Reserved || kind == Kind::DeviceUsed;
}

bool is_whole(Kind kind) { return is_bytes(kind) || kind == Kind::Fact; }

}  // namespace vramfit::bench::compare
