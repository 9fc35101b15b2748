#include "bench/compare/counter.h"

namespace vramfit::bench::compare {
namespace {

bool is_time(const std::string& name) {
  return name.ends_with("seconds") || name.ends_with("_per_second") || name == "real_time" ||
         name == "of_bound";
}

/// Measured on a device, predicted for our own step, predicted for PyTorch.
bool is_level(const std::string& name) {
  return name.starts_with("mem_") || name.starts_with("pred_") || name.starts_with("pytorch_");
}

}  // namespace

Counter counter_called(const std::string& name) {
  if (name.ends_with("max_batch") && is_level(name)) return {Kind::Fact, Better::More};
  if (name == "ledger_equal") return {Kind::Fact, Better::More};
  if (name == "oom" || name == "pred_oom") return {Kind::Fact, Better::Less};
  if (is_time(name)) {
    const bool rate = name.ends_with("_per_second") || name == "of_bound";
    return {Kind::Time, rate ? Better::More : Better::Less};
  }
  if (name == "median" || name == "mem_unattributed") return {Kind::DeviceUsed, Better::Less};
  if (!is_level(name)) return {Kind::Stated, Better::Less};
  if (name.ends_with("device_used")) return {Kind::DeviceUsed, Better::Less};
  if (name.ends_with("_reserved")) return {Kind::Reserved, Better::Less};
  return {Kind::Ledger, Better::Less};
}

bool is_bytes(Kind kind) {
  return kind == Kind::Ledger || kind == Kind::Reserved || kind == Kind::DeviceUsed;
}

}  // namespace vramfit::bench::compare
