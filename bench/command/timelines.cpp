#include "bench/command/timelines.h"

#include <stdlib.h>

#include <optional>
#include <stdexcept>
#include <system_error>

#include "bench/ledgers/ledger_file.h"
#include "model/errors.h"

namespace vramfit::bench {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> given(const std::string& path) {
  return path.empty() ? std::nullopt : std::optional(path);
}

void require_one_row(const char* flag, const std::string& path, const Plan& plan) {
  if (path.empty()) return;
  const std::size_t rows = plan.names().size();
  const bool one = rows == 1 && plan.selection.cases.size() == 1;
  const std::string family = one ? plan.selection.cases.front().row.family->name : "";
  if (family == "Training" || family == "Inference" || family == "KvCache") return;
  throw BadInput(std::string(flag) + ": takes one row of Training, Inference or KvCache, and " +
                 (one ? family : std::to_string(rows) + " rows") +
                 " would run; --benchmark_filter='^NAME$'");
}

std::uint64_t value(const Result& result, const std::string& counter) {
  const auto& values = result.counters.values();
  const auto found = values.find(counter);
  return found == values.end() ? 0 : static_cast<std::uint64_t>(found->second);
}

/// What the card loses beside the pool; 0 on a device that is no card.
std::uint64_t beside(const Result& result) {
  const std::uint64_t measured = value(result, "mem_device_used");
  return measured > 0 ? measured - value(result, "mem_reserved")
                      : value(result, "pred_device_used") - value(result, "pred_reserved");
}

}  // namespace

Timelines::Timelines(const BenchOptions& options, const Plan& plan)
    : files_((require_one_row("snapshot", options.snapshot, plan),
              require_one_row("trace", options.trace, plan), given(options.snapshot)),
             given(options.trace)) {}

void Timelines::write(const std::string& row, const Result& result, std::uint64_t capacity,
                      const fs::path& ledgers) const {
  const fs::path path = ledger_path(ledgers, row);
  if (!files_.wanted() || !fs::exists(path)) return;
  files_.write({row + ": " + result.label, read_ledger(path).ledger, capacity,
                value(result, "pred_device_used") == 0 ? 0 : beside(result)});
}

PassingLedgers::PassingLedgers(BenchOptions& options) {
  const bool needed = !options.snapshot.empty() || !options.trace.empty();
  if (!needed || !options.ledgers.empty()) return;
  std::string path = (fs::temp_directory_path() / "vramfit-ledgers-XXXXXX").string();
  if (mkdtemp(path.data()) == nullptr) throw std::runtime_error("cannot make " + path);
  options.ledgers = path;
  folder_ = path;
}

PassingLedgers::~PassingLedgers() {
  std::error_code ignored;
  if (!folder_.empty()) fs::remove_all(folder_, ignored);
}

}  // namespace vramfit::bench
