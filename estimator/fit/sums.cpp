#include "estimator/fit/sums.h"

#include <fmt/format.h>

#include <algorithm>

#include "estimator/fit/bars.h"
#include "estimator/fit/text.h"

namespace vramfit::fit {
namespace {

class Table {
 public:
  Table(const Estimate& estimate, const Budget& budget, const std::vector<Component>& components)
      : estimate_(estimate),
        budget_(budget),
        components_(components),
        bars_(estimate.total),
        decimals_(table_decimals(estimate)) {}

  std::string text() {
    lines_ = fmt::format("The peak, {}\n", moment(estimate_.peak.stage, estimate_.peak.step));
    const bool told_apart = !components_.empty();
    row(told_apart ? "component" : "level", "GB", of_a_model() ? "B/param" : "", bars_.legend());
    for (const Component& each : components_) component(each);
    if (told_apart) lines_ += "\n";
    sum("allocated", estimate_.levels.allocated);
    sum("reserved", estimate_.levels.reserved);
    const Overhead& overhead = estimate_.overhead;
    row("+ overhead", gb(overhead.total(), decimals_), "",
        fmt::format("driver {}, context {}, libraries {}", gb(overhead.driver_reserved),
                    gb(overhead.context), gb(overhead.libraries)));
    sum("= total", estimate_.total, bars_.bar(estimate_.total));
    if (budget_.headroom > 0) row("+ headroom", gb(budget_.headroom, decimals_), "", "");
    if (budget_.held > 0) row("+ held by others", gb(budget_.held, decimals_), "", "");
    row("VRAM", gb(budget_.vram, decimals_), "", bars_.bar(budget_.vram, '='));
    const std::uint64_t host = estimate_.levels.host;
    if (host > 0) sum("in host memory", host);
    return lines_;
  }

 private:
  void row(const std::string& label, const std::string& size, const std::string& each,
           const std::string& rest) {
    const std::string left = fmt::format("  {:<17}{:>9}{:>9}   ", label, size, each);
    std::string line = wrapped(std::string(left.size(), ' ') + rest, left.size());
    line.replace(0, left.size(), left);
    line.erase(line.find_last_not_of(" \n") + 1);
    lines_ += line + '\n';
  }

  void sum(const std::string& label, std::uint64_t bytes, const std::string& bar = "") {
    const double each = static_cast<double>(bytes) / static_cast<double>(estimate_.parameters);
    row(label, gb(bytes, decimals_), of_a_model() ? fmt::format("{:.2f}", each) : "", bar);
  }

  void component(const Component& component) {
    std::string label = component.name;
    std::replace(label.begin(), label.end(), '_', ' ');
    if (component.bytes > 0) {
      sum(label, component.bytes, bars_.bar(component.bytes));
    } else {
      row(label, gb(0, decimals_), "", "none at this point of the step");
    }
  }

  /// Else somebody's script, of which nobody counts the parameters.
  bool of_a_model() const { return estimate_.parameters > 0; }

  const Estimate& estimate_;
  const Budget& budget_;
  const std::vector<Component>& components_;
  const Bars bars_;
  const int decimals_;
  std::string lines_;
};

}  // namespace

std::string sums(const Estimate& estimate, const Budget& budget,
                 const std::vector<Component>& components) {
  return Table(estimate, budget, components).text();
}

std::string sums(const Estimate& estimate, const Budget& budget) {
  const Stage stage = estimate.peak.stage;
  const bool training =
      stage == Stage::Forward || stage == Stage::Backward || stage == Stage::Optimizer;
  std::vector<Component> components;
  for (std::size_t i = 0; i < kCategories; ++i) {
    const auto category = static_cast<Category>(i);
    const std::uint64_t bytes = estimate.peak.by_category[category];
    if (bytes > 0 || (category == Category::Gradients && training)) {
      components.push_back({name(category), bytes});
    }
  }
  return sums(estimate, budget, components);
}

}  // namespace vramfit::fit
