#include "bench/command/row_process.h"

#include <exception>

#include "bench/command/selection.h"
#include "bench/families/overhead.h"
#include "bench/ledgers/ledger_folder.h"
#include "bench/process/child.h"
#include "bench/rows/families.h"
#include "model/errors.h"

namespace vramfit::bench {
namespace {

Result run_row(const Options& options) {
  Target target(options.device, options.measuring, options.profile);
  if (target.device() == nullptr) throw BadInput("device: a row's own process is for real ones");
  const std::string neighbours = target.device()->neighbours();
  if (!neighbours.empty() && !options.measuring.shared_gpu) {
    throw BadInput("others have memory of the GPU: " + neighbours);
  }
  if (options.row == kOverheadSample) return sample_overhead(*target.device());
  Models models(options.config);
  Case c = case_of(options.row, target, models);
  LedgerFolder ledgers("ledgers", options.ledgers);
  c.keeps_ledger = ledgers.keeps();
  if (!c.row.family->apart) throw BadInput("row: is made of others, each with its own process");
  const Result result = c.row.family->run(c, {});
  ledgers.keep(c.row.name(), true, result);
  return result;
}

}  // namespace

void run_row_process(const Options& options) {
  end_with_parent();
  Result result;
  try {
    result = run_row(options);
  } catch (const std::exception& error) {
    result = failure(error.what());
  }
  answer(result);
}

}  // namespace vramfit::bench
