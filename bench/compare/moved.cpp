#include "bench/compare/moved.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <system_error>
#include <tuple>

#include "bench/data/data_folder.h"
#include "bench/ledgers/ledger_file.h"
#include "model/memory/layer_name.h"

namespace vramfit::bench::compare {
namespace {

std::string text_of(const KeptEvent& e) {
  static constexpr const char* kKinds[] = {
      "begins", "ends", "allocates", "frees", "fails to allocate", "relabels"};
  std::string text = name(e.stage);
  if (e.step > 0) text += " of step " + std::to_string(e.step);
  text += std::string(" ") + kKinds[static_cast<std::size_t>(e.kind)];
  if (e.kind == Event::Kind::StageBegin || e.kind == Event::Kind::StageEnd) return text;
  text += " " + e.name + " (" + name(e.category) + ", " + std::to_string(e.bytes) + " B";
  if (e.kind != Event::Kind::OutOfMemory) text += " at " + std::to_string(e.offset);
  return text + ")";
}

using Key = std::tuple<int, Stage, Category, std::string>;
using Sums = std::map<Key, MovedTensors>;

int steps_of(const KeptLedger& ledger) {
  int steps = 0;
  for (const KeptEvent& e : ledger.events) steps = std::max(steps, e.step);
  return steps;
}

/// Of steps up to `last`: one that only one of two runs walked is no difference of its tensors.
void add(Sums& sums, const KeptLedger& ledger, int last, int sign) {
  for (const KeptEvent& e : ledger.events) {
    if (e.kind != Event::Kind::Allocate || e.step > last) continue;
    const std::string tensor = layer_name(e.name).of_all_layers();
    MovedTensors& sum = sums.try_emplace({e.step, e.stage, e.category, tensor},
                                         MovedTensors{e.step, e.stage, e.category, tensor})
                            .first->second;
    sum.count += sign;
    sum.bytes += sign * static_cast<std::int64_t>(e.bytes);
  }
}

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

/// Whether each kind of tensors moved by no more than any level may.
bool is_allowed(const Moved& moved, const RowChange& row, const Rules& rules) {
  if (rules.allowance.bytes == 0 && rules.allowance.part == 0) return false;
  double level = 0;
  for (const Change& change : row.changes) {
    if (change.kind == Kind::Ledger) level = std::max(level, change.before.value_or(0));
  }
  const double most = may_differ_by(Kind::Ledger, level, rules);
  return std::all_of(moved.tensors.begin(), moved.tensors.end(), [&](const MovedTensors& kind) {
    return std::abs(static_cast<double>(kind.bytes)) <= most;
  });
}

/// Equal ledgers are equal files.
std::optional<Moved> moved_between(const fs::path& before, const fs::path& after) {
  if (read_text(before) == read_text(after)) return std::nullopt;
  return moved(read_ledger(before).ledger, read_ledger(after).ledger);
}

}  // namespace

std::int64_t Moved::bytes() const {
  std::int64_t sum = 0;
  for (const MovedTensors& kind : tensors) sum += kind.bytes;
  return sum;
}

std::optional<Moved> moved(const KeptLedger& before, const KeptLedger& after) {
  const auto [old_event, new_event] = std::mismatch(before.events.begin(), before.events.end(),
                                                    after.events.begin(), after.events.end());
  const bool old_ended = old_event == before.events.end();
  const bool new_ended = new_event == after.events.end();
  if (old_ended && new_ended) return std::nullopt;
  Moved result;
  result.event = static_cast<std::size_t>(old_event - before.events.begin());
  result.before = old_ended ? "" : text_of(*old_event);
  result.after = new_ended ? "" : text_of(*new_event);
  Sums sums;
  const int old_steps = steps_of(before);
  const int new_steps = steps_of(after);
  result.more_steps = new_steps - old_steps;
  add(sums, before, std::min(old_steps, new_steps), -1);
  add(sums, after, std::min(old_steps, new_steps), 1);
  for (auto& [key, sum] : sums) {
    if (sum.count != 0 || sum.bytes != 0) result.tensors.push_back(std::move(sum));
  }
  std::sort(result.tensors.begin(), result.tensors.end(), [](const auto& a, const auto& b) {
    return std::tuple(-std::abs(a.bytes), a.step, a.stage, a.category, a.tensor) <
           std::tuple(-std::abs(b.bytes), b.step, b.stage, b.category, b.tensor);
  });
  return result;
}

std::map<std::string, Moved> note_moved(Comparison& comparison, const Rules& rules,
                                        const fs::path& before, const fs::path& after) {
  std::map<std::string, Moved> all;
  for (RowChange& row : comparison.rows) {
    const fs::path old_file = ledger_path(before, row.row);
    const fs::path new_file = ledger_path(after, row.row);
    if (row.changes.empty() || !is_there(old_file) || !is_there(new_file)) continue;
    auto difference = moved_between(old_file, new_file);
    if (!difference) continue;
    if (row.status == Status::Same && !is_allowed(*difference, row, rules)) {
      row.status = difference->bytes() < 0 ? Status::Better : Status::Worse;
      row.why = "its ledger differs";
    }
    all.emplace(row.row, *std::move(difference));
  }
  return all;
}

}  // namespace vramfit::bench::compare
