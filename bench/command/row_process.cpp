#include "bench/command/row_process.h"

#include <algorithm>
#include <exception>
#include <optional>

#include "bench/command/selection.h"
#include "bench/families/overhead.h"
#include "bench/ledgers/ledger_folder.h"
#include "bench/process/child.h"
#include "bench/rows/families.h"
#include "model/errors.h"
#include "model/parallel/pipeline.h"

namespace vramfit::bench {
namespace {

/// Which of the row's GPUs is this process's. Of a row of one it is of no concern who else was
/// started.
std::optional<Launched> own_rank(const std::string& row) {
  if (row == kOverheadSample) return std::nullopt;
  const std::string gpus = parse_row(row)[Axis::Gpus];
  if (gpus.empty() || gpus == "1") return std::nullopt;
  const std::optional<Launched> own = launched();
  const std::int64_t ranks = own ? own->ranks : 1;
  if (std::to_string(ranks) == gpus) return own;
  throw BadInput("gpus: the row has " + gpus + ", and " + std::to_string(ranks) +
                 " processes were started");
}

std::vector<std::int64_t> correspondents_of(const std::string& row,
                                            const std::optional<Launched>& rank) {
  if (!rank) return {};
  return correspondents({parse_strategy(parse_row(row)[Axis::Strategy]), rank->ranks, rank->rank});
}

/// A launcher may have left each process but its own GPU to see.
std::string device_of(const BenchOptions& options, const std::optional<Launched>& rank) {
  if (!rank) return options.device;
  return "cuda:" + std::to_string(rank->local_rank % std::max(cuda_devices(), 1));
}

Result run_row(const BenchOptions& options) {
  MeasuringOptions measuring = options.measuring;
  measuring.rank = own_rank(options.row);
  measuring.correspondents = correspondents_of(options.row, measuring.rank);
  Target target(device_of(options, measuring.rank), measuring, options.profile);
  if (target.device() == nullptr) throw BadInput("device: a row's own process is for real ones");
  const std::string neighbours = target.device()->neighbours();
  if (!neighbours.empty() && !options.measuring.shared_gpu) {
    throw BadInput("others have memory of the GPU: " + neighbours);
  }
  if (options.row == kOverheadSample) return sample_overhead(*target.device());
  Models models(options.config);
  Case c = case_of(options.row, target, models);
  LedgerFolder ledgers("ledgers", options.ledgers);
  c.rank = measuring.rank ? measuring.rank->rank : 0;
  c.keeps_ledger = ledgers.keeps() && c.rank == 0;
  if (!c.row.family->apart) throw BadInput("row: is made of others, each with its own process");
  const Result result = c.row.family->run(c, {});
  if (c.keeps_ledger) ledgers.keep(c.row.name(), true, result);
  return result;
}

}  // namespace

void run_row_process(const BenchOptions& options) {
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
