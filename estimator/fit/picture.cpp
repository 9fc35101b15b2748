#include "estimator/fit/picture.h"

#include <fmt/format.h>

#include <algorithm>

#include "estimator/fit/bars.h"
#include "estimator/fit/text.h"
#include "estimator/fit/waterfall.h"

namespace vramfit::fit {
namespace {

constexpr const char* kRow = "  {:<17}{:>9}{:>9}   {}";

std::string header(const Answer& answer, Search search) {
  const Request& request = answer.request;
  const Budget& budget = request.budget;
  std::string text = fmt::format("{}: {} parameters\n", short_name(request.model),
                                 grouped(answer.estimate.parameters));
  text += wrapped(workload_text(request.workload), 2);
  text += wrapped(fmt::format("on {}{}, sm_{}", budget.gpu.empty() ? "" : budget.gpu + ": ",
                              budget.title, budget.arch.sm),
                  2);
  if (search == Search::None) return text;
  const char* what = search == Search::Batch ? "batch" : "sequence";
  return text + fmt::format("largest {} that fits: {}{}\n", what, *answer.largest,
                            *answer.largest == 0 ? fmt::format(" ({} 1 is shown)", what) : "");
}

/// A table of what memory goes to at the peak, with bars in one scale.
class Sums {
 public:
  Sums(const Estimate& estimate, const Budget& budget)
      : estimate_(estimate), budget_(budget), bars_(estimate.total) {}

  std::string text() {
    lines_ += row("at the peak", "GB", "B/param", bars_.legend());
    for (std::size_t i = 0; i < kCategories; ++i) component(static_cast<Category>(i));
    lines_ += "\n";
    sum("allocated", estimate_.levels.allocated);
    sum("reserved", estimate_.levels.reserved);
    const Overhead& overhead = budget_.overhead;
    lines_ += row("+ overhead", amount(overhead.total()), "",
                  fmt::format("driver {}, context {}, libraries {}", gb(overhead.driver_reserved),
                              gb(overhead.context), gb(overhead.libraries)));
    sum("= total", estimate_.total, bars_.bar(estimate_.total));
    if (budget_.headroom > 0) lines_ += row("+ headroom", amount(budget_.headroom), "", "");
    lines_ += row("VRAM", amount(budget_.vram), "", bars_.bar(budget_.vram, '='));
    return lines_;
  }

 private:
  static std::string row(const std::string& label, const std::string& size, const std::string& each,
                         const std::string& rest) {
    std::string line = fmt::format(kRow, label, size, each, rest);
    line.erase(line.find_last_not_of(' ') + 1);
    return line + "\n";
  }

  std::string amount(std::uint64_t bytes) const {
    const std::string text = gb(bytes, decimals());
    return bytes > 0 && text.find_first_not_of("0.") == std::string::npos ? "<" + text : text;
  }

  std::string per_parameter(std::uint64_t bytes) const {
    return fmt::format("{:.2f}",
                       static_cast<double>(bytes) / static_cast<double>(estimate_.parameters));
  }

  /// Small models are a matter of MB.
  int decimals() const { return estimate_.total < 10'000'000'000 ? 3 : 2; }

  void component(Category category) {
    const std::uint64_t bytes = estimate_.peak.by_category[category];
    if (bytes == 0) return;
    std::string label = name(category);
    std::replace(label.begin(), label.end(), '_', ' ');
    lines_ += row(label, amount(bytes), per_parameter(bytes), bars_.bar(bytes));
  }

  void sum(const char* label, std::uint64_t bytes, const std::string& bar = "") {
    lines_ += row(label, amount(bytes), per_parameter(bytes), bar);
  }

  const Estimate& estimate_;
  const Budget& budget_;
  const Bars bars_;
  std::string lines_;
};

std::string moment(Stage stage, int step) {
  const bool training = stage == Stage::Forward || stage == Stage::Backward ||
                        stage == Stage::Optimizer || stage == Stage::ZeroGrad;
  return training ? fmt::format("{} of step {}", name(stage), step) : name(stage);
}

std::string verdict(const Estimate& estimate, const Budget& budget) {
  const auto margin = static_cast<std::uint64_t>(std::abs(estimate.margin));
  if (estimate.fits) {
    return fmt::format("FITS in {}, with {} to spare\n", both_units(budget.vram),
                       both_units(margin));
  }
  const MissingMemory& missing = *estimate.missing;
  return fmt::format("OOM: {} more than {}; it ends in {}, at {}\n", both_units(margin),
                     both_units(budget.vram), moment(missing.stage, missing.step),
                     missing.name.text());
}

}  // namespace

std::string picture(const Answer& answer, Search search) {
  const Request& request = answer.request;
  const Estimate& estimate = answer.estimate;
  std::string text = header(answer, search) + "\n";
  text += Sums(estimate, request.budget).text() + "\n";
  text += wrapped(verdict(estimate, request.budget), 2) + "\n";
  text += waterfall(estimate) + "\n";
  text += wrapped("peak: " + moment(estimate.peak.stage, estimate.peak.step), 2);
  for (const std::string& note : estimate.notes) text += wrapped("note: " + note, 2);
  text += wrapped("overhead: " + request.budget.overhead.source, 2);
  return text + wrapped(runtime_text(request.workload), 2);
}

}  // namespace vramfit::fit
