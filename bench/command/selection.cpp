#include "bench/command/selection.h"

#include <algorithm>

#include "bench/families/limits.h"
#include "bench/rows/families.h"
#include "estimator/steady_run.h"
#include "model/errors.h"
#include "model/transformer/parameters.h"
#include "runtimes/vramfit/runtime.h"

namespace vramfit::bench {
namespace {

struct Placed {
  Row row;
  const Card* card;
};

/// The row once per card that it runs on; `typed` are cards that a real device is to behave as.
std::vector<Placed> place(const Row& row, const std::vector<std::string>& typed, Target& target) {
  if (!row[Axis::Gpu].empty()) return {{row, &target.card(row[Axis::Gpu])}};
  std::vector<const Card*> cards = target.cards();
  const bool capped = target.device() != nullptr && !typed.empty();
  if (capped) cards.clear();
  for (const std::string& name : typed) {
    if (capped) cards.push_back(&target.card(name));
  }
  if (!capped && cards.size() <= 1) return {{row, cards.empty() ? nullptr : cards.front()}};
  std::vector<Placed> placed;
  for (const Card* card : cards) {
    placed.push_back({row, card});
    placed.back().row[Axis::Gpu] = card->name;
  }
  return placed;
}

/// Why the device cannot be the card that the row names, or "".
std::string too_large(const Placed& placed, const RealDevice* device) {
  if (device == nullptr || placed.row[Axis::Gpu].empty() || device->can_be(*placed.card)) return "";
  return "gpu: " + placed.card->name + " has more memory than " + device->name() + " can lend";
}

/// Why the row's GPUs are not to be had, or "".
std::string too_few_gpus(const Row& row, const Target& target) {
  if (target.device() == nullptr || row[Axis::Gpus].empty()) return "";
  const std::int64_t wanted = size_of(Axis::Gpus, row[Axis::Gpus]);
  if (wanted == 1) return "";
  if (!target.is_gpu()) return "gpus: ranks run on GPUs; --device=virtual:h200 predicts them";
  if (const std::optional<Launched> own = launched()) {
    if (own->ranks == wanted) return "";
    return "gpus: " + std::to_string(own->ranks) + " processes were started, and a row has " +
           row[Axis::Gpus];
  }
  if (cuda_devices() >= wanted) return "";
  return "gpus: a row has " + row[Axis::Gpus] + ", and this machine " +
         std::to_string(cuda_devices());
}

/// Why this row cannot run, or "".
std::string objection(const Case& c) {
  try {
    if (c.device != nullptr) c.device->check(parameter_count(*c.config));
    c.row.family->check(c);
    check_limits(c);
  } catch (const BadInput& error) {
    return error.what();
  }
  return "";
}

bool any_typed(const RowFamily& family, const AxisLists& typed) {
  return std::any_of(family.axes.begin(), family.axes.end(),
                     [&](Axis axis) { return !typed[index(axis)].empty(); });
}

/// Whether the filter selects some row of the case. The parts of one that cannot run are not known.
bool any_selected(const Case& c, const Filter& filter) {
  std::vector<std::string> names;
  try {
    names = row_names(c);
  } catch (const BadInput&) {
    names = {c.row.name()};
  }
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return filter.selects(name); });
}

bool is_timed_only(const Case& c) { return c.row.family->parts != nullptr; }

/// Why there is nothing to time: the run does not complete. Otherwise "".
std::string too_small(const Case& c) {
  if (!is_timed_only(c)) return "";
  const StepWorkload workload(training_options(c));
  if (!steady_run(workload, c.gpu(), c.capacity(), *c.config, {.events = false}).report.missing)
    return "";
  return "memory: " + c.row.name() + " does not fit, so there is no step to time";
}

/// Whether some row has this value.
bool has_value(const std::vector<Case>& cases, std::size_t axis, const std::string& value) {
  return std::any_of(cases.begin(), cases.end(),
                     [&](const Case& c) { return c.row.values[axis] == value; });
}

[[noreturn]] void refuse_axis(std::size_t axis, const std::string& value) {
  const std::string flag = axes()[axis].flag;
  throw BadInput(flag + ": no selected row has " + value +
                 "; another --benchmark_filter, or without --" + flag);
}

[[noreturn]] void refuse_row(const std::string& name, const std::string& why) {
  throw BadInput(name + ": " + why);
}

/// Each typed value is in a row that runs, unless the filter is what left it out.
void require_typed_values(const Selection& selection, const AxisLists& typed,
                          const std::vector<std::pair<Case, std::string>>& refused) {
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    bool some = typed[axis].empty();
    for (const std::string& value : typed[axis]) {
      if (has_value(selection.cases, axis, value)) {
        some = true;
        continue;
      }
      const auto why = std::find_if(refused.begin(), refused.end(), [&](const auto& one) {
        return one.first.row.values[axis] == value;
      });
      if (why != refused.end()) throw BadInput(why->second);
    }
    if (!some) refuse_axis(axis, typed[axis].front());
  }
}

}  // namespace

Selection select(const std::vector<Row>& rows, const AxisLists& typed, const Filter& filter,
                 Target& target, Models& models) {
  Selection selection;
  std::vector<std::pair<Case, std::string>> refused;
  for (const Row& row : rows) {
    for (const Placed& placed : place(row, typed[index(Axis::Gpu)], target)) {
      const Case c{placed.row, &models[placed.row[Axis::Model]], placed.card, target.device()};
      if (!any_selected(c, filter)) continue;
      if (is_timed_only(c) && c.device == nullptr) {
        selection.needs_device = row.family;
        continue;
      }
      if (const std::string why = too_large(placed, target.device()); !why.empty()) {
        ++selection.left_out[why];
        continue;
      }
      if (const std::string why = too_few_gpus(placed.row, target); !why.empty()) {
        ++selection.left_out[why];
        continue;
      }
      const std::string why = objection(c);
      if (const std::string small = why.empty() ? too_small(c) : ""; !small.empty()) {
        ++selection.left_out[small];
      } else if (why.empty()) {
        selection.cases.push_back(c);
      } else if (any_typed(*row.family, typed)) {
        refused.emplace_back(c, why);
        ++selection.left_out[why];
      } else {
        refuse_row(placed.row.name(), why);
      }
    }
  }
  const bool nothing_else = selection.cases.empty() && selection.left_out.empty();
  if (nothing_else && selection.needs_device != nullptr) return selection;
  require_typed_values(selection, typed, refused);
  return selection;
}

Case case_of(const std::string& row, Target& target, Models& models) {
  const Placed placed = place(parse_row(row), {}, target).front();
  const Case c{placed.row, &models[placed.row[Axis::Model]], placed.card, target.device()};
  const std::string why = objection(c);
  if (!why.empty()) throw BadInput(row + ": " + why);
  return c;
}

}  // namespace vramfit::bench
