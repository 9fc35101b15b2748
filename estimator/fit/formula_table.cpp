#include "estimator/fit/formula_table.h"

#include <fmt/format.h>

#include "estimator/fit/text.h"

namespace vramfit::fit {
namespace {

constexpr const char* kFormulaRow = "  {:<20}{:<32}{:>10}   {}\n";

}  // namespace

std::string formula_table(const Answer& answer, bool sources) {
  const Estimate& estimate = answer.estimate;
  std::string text = fmt::format(kFormulaRow, "what others would say", "", "GB", "verdict");
  text += fmt::format(kFormulaRow, "vramfit", "this answer, overhead included", gb(estimate.total),
                      name(estimate.verdict));
  for (const FormulaAnswer& formula : answer.formulas) {
    text += fmt::format(kFormulaRow, formula.name, formula.form,
                        formula.total ? gb(*formula.total) : "-",
                        !formula.total ? "does not speak of such a run"
                        : formula.fits ? "FITS"
                                       : "OOM");
  }
  if (!sources) return text;
  for (const FormulaAnswer& formula : answer.formulas) {
    text += wrapped(fmt::format("  {}: {}", formula.name, formula.source), 4);
  }
  return text;
}

}  // namespace vramfit::fit
