#include "bench/compare/causes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>

#include "bench/compare/change_text.h"
#include "bench/compare/device_parts.h"
#include "model/memory/category.h"
#include "model/memory/pool.h"

namespace vramfit::bench::compare {
namespace {

/// Blocks of PyTorch's allocator; the pool's are half of it.
constexpr double kSmallestBlock = 512;

/// A cause in one row.
struct Part {
  std::string what;
  std::optional<double> size;
  Kind kind = Kind::Ledger;
  bool worse = false;
};
using Parts = std::vector<Part>;

void add_bytes(Parts& parts, const std::string& what, double bytes, Kind kind) {
  if (bytes != 0) parts.push_back({what, bytes, kind, bytes > 0});
}

/// Every step does the same: of a tensor the step in which it differs most.
void add_tensors(Parts& parts, const Moved& moved) {
  std::map<std::string, double> sizes;
  for (const MovedTensors& kind : moved.tensors) {
    const std::string what = kind.tensor + " (" + name(kind.category) + ") in " + name(kind.stage);
    double& size = sizes[what];
    const auto bytes = static_cast<double>(kind.bytes);
    if (std::abs(bytes) > std::abs(size)) size = bytes;
  }
  for (const auto& [what, size] : sizes) add_bytes(parts, what, size, Kind::Ledger);
  if (moved.tensors.empty()) {
    parts.push_back({"order or places of the same tensors", std::nullopt, Kind::Ledger, false});
  }
}

/// Without ledgers, the categories at the peak tell whose a difference of the tensors' level is.
void add_categories(Parts& parts, const RowChange& row, const std::string& side, double allocated) {
  if (allocated == 0) return;
  const std::size_t before = parts.size();
  for (const char* category : kCategoryNames) {
    add_bytes(parts, std::string(category) + " at the peak",
              difference(row, side + category).value_or(0), Kind::Ledger);
  }
  if (parts.size() == before) add_bytes(parts, "tensors at the peak", allocated, Kind::Ledger);
}

void add_levels(Parts& parts, const RowChange& row, const Moved* moved) {
  const std::string side = side_of(row);
  const double allocated = difference(row, side + "allocated").value_or(0);
  const double reserved = difference(row, side + "reserved").value_or(0);
  const double used = difference(row, side + "device_used").value_or(0);
  if (moved != nullptr) {
    add_tensors(parts, *moved);
  } else {
    add_categories(parts, row, side, allocated);
  }
  const double gaps = reserved - allocated;
  // Less than a granule more or less is the same tensors rounded up.
  if (std::abs(gaps) >= static_cast<double>(Pool::kGranularity) ||
      (parts.empty() && reserved != 0)) {
    add_bytes(parts, "reserved beyond tensors: gaps and rounding", gaps, Kind::Reserved);
  }
  double beside = used - reserved;
  for (const DevicePart& part : kDeviceParts) {
    const double bytes = difference(row, part.counter).value_or(0);
    add_bytes(parts, part.called, bytes, Kind::DeviceUsed);
    beside -= bytes;
  }
  if (used != 0) add_bytes(parts, "beside the pool", beside, Kind::DeviceUsed);
}

/// Largest batches, errors, times: each is its own cause.
void add_others(Parts& parts, const RowChange& row) {
  for (const Change& change : row.changes) {
    if (!change.differs || !change.counts || is_bytes(change.kind)) continue;
    if (!change.before || !change.after) {
      parts.push_back({change.counter + (change.after ? " is new" : " is gone"), std::nullopt,
                       change.kind, change.worse});
      continue;
    }
    double size = *change.after - *change.before;
    if (!is_whole(change.kind) && *change.before != 0) size /= std::abs(*change.before);
    parts.push_back({change.counter, size, change.kind, change.worse});
  }
}

/// What differs and is in no level above: bytes of a stage below the peak, or by their own name.
void add_rest(Parts& parts, const RowChange& row) {
  const auto bytes_of = [](const Part& part) { return part.size && is_bytes(part.kind); };
  if (std::any_of(parts.begin(), parts.end(), bytes_of)) return;
  const Change* largest = nullptr;
  for (const Change& change : row.changes) {
    if (!change.differs || !change.counts || !is_bytes(change.kind)) continue;
    if (!change.before || !change.after) {
      parts.push_back({change.counter + (change.after ? " is new" : " is gone"), std::nullopt,
                       change.kind, change.worse});
      continue;
    }
    const auto size = [](const Change& c) { return std::abs(*c.after - *c.before); };
    if (largest == nullptr || size(change) > size(*largest)) largest = &change;
  }
  if (largest != nullptr) {
    parts.push_back(
        {largest->counter, *largest->after - *largest->before, largest->kind, largest->worse});
  }
}

/// By what a part may be more: its row's level of that kind.
double may_be_more(const Part& part, const RowChange& row, const Rules& rules) {
  const char* level = part.kind == Kind::Reserved     ? "reserved"
                      : part.kind == Kind::DeviceUsed ? "device_used"
                                                      : "allocated";
  const Change* change = find_both(row, side_of(row) + level);
  return may_differ_by(part.kind, change == nullptr ? 0 : *change->before, rules);
}

/// Which bytes are worse of all that are more.
void judge_bytes(Parts& parts, const RowChange& row, const Rules& rules) {
  const auto is_more = [](const Part& part) {
    return part.size && is_bytes(part.kind) && part.worse;
  };
  const auto is_beyond = [&](const Part& part) {
    return is_more(part) && *part.size > may_be_more(part, row, rules);
  };
  const bool row_is_worse = row.status == Status::Worse;
  const bool any_beyond = std::any_of(parts.begin(), parts.end(), is_beyond);
  for (Part& part : parts) {
    if (is_more(part)) part.worse = row_is_worse && (!any_beyond || is_beyond(part));
  }
}

Parts parts_of(const RowChange& row, const Rules& rules, const Moved* moved) {
  const bool ledger_alone = moved != nullptr;
  if (!row.why.empty() && !ledger_alone) {
    return {{row.why, std::nullopt, Kind::Fact, row.status == Status::Worse}};
  }
  if (row.changes.empty() || row.status == Status::NotMeasured) {
    return {{name(row.status), std::nullopt, Kind::Fact, false}};
  }
  // Where one of the two ended early, all else is what it did not come to.
  const char* said = side_of(row) == "mem_" ? "oom" : "pred_oom";
  const double oom = difference(row, said).value_or(0);
  if (oom != 0) {
    const char* what = oom > 0 ? "runs out of memory" : "no longer runs out of memory";
    return {{what, std::nullopt, Kind::Fact, oom > 0}};
  }
  Parts parts;
  add_levels(parts, row, moved);
  add_others(parts, row);
  add_rest(parts, row);
  judge_bytes(parts, row, rules);
  return parts;
}

void add(Cause& cause, const Part& part, const std::string& row) {
  cause.worse |= part.worse;
  cause.kind = part.kind;
  if (part.size) {
    const double size = *part.size;
    if (!cause.sized || std::abs(size) > std::abs(cause.most)) cause.most = size;
    if (!cause.sized || std::abs(size) < std::abs(cause.least)) cause.least = size;
    cause.sized = true;
  }
  cause.rows.push_back(row);
}

}  // namespace

std::vector<Cause> causes(const Comparison& comparison, const Rules& rules,
                          const std::map<std::string, Moved>& moved) {
  std::map<std::string, Cause> by_name;
  for (const RowChange& row : comparison.rows) {
    if (row.status == Status::Same || row.status == Status::Added) continue;
    const auto ledgers = moved.find(row.row);
    const Moved* its = ledgers == moved.end() ? nullptr : &ledgers->second;
    for (const Part& part : parts_of(row, rules, its)) {
      Cause& cause = by_name[part.what];
      cause.what = part.what;
      add(cause, part, row.row);
    }
  }
  std::vector<Cause> list;
  list.reserve(by_name.size());
  for (auto& [what, cause] : by_name) list.push_back(std::move(cause));
  std::sort(list.begin(), list.end(), [](const Cause& a, const Cause& b) {
    const auto key = [](const Cause& c) {
      return std::tuple(c.sized, !is_bytes(c.kind), -std::abs(c.most), -c.rows.size(), c.what);
    };
    return key(a) < key(b);
  });
  return list;
}

std::string size_text(const Cause& cause) {
  if (!cause.sized) return "";
  const auto text = [&](double size) {
    if (is_bytes(cause.kind)) return short_change(std::llround(size));
    return is_whole(cause.kind) ? fmt::format("{:+}", std::llround(size))
                                : fmt::format("{:+.1f} %", 100 * size);
  };
  const std::string least = text(cause.least);
  const std::string most = text(cause.most);
  return least == most ? most : least + " to " + most;
}

bool is_small(const Cause& cause) {
  return cause.sized && is_bytes(cause.kind) && std::abs(cause.most) < kSmallestBlock;
}

}  // namespace vramfit::bench::compare
