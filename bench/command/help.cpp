#include "bench/command/help.h"

#include <sstream>

#include "bench/report/columns.h"

namespace vramfit::bench {
namespace {

/// Where CLI11 begins what a flag means.
constexpr std::size_t kMeaning = 30;

}  // namespace

std::string short_help() {
  return R"(Holds what a transformer's memory is predicted to be against what it is measured to be.

  bench --benchmark_filter=Training
  bench --benchmark_filter=Training --model=qwen2-1.5b --precision=bf16 --batch=1,2,4 --seq=4096
  bench --benchmark_filter=OomCliff --gpu=rtx4090,24GB
  bench --benchmark_out=build/new.json --ledgers=build/new.ledgers

Which rows, of data/sweep.json unless said
  --benchmark_filter=REGEX       Training, MultiGpu, Inference, KvCache, OomCliff, BatchCliff,
                                 ContextCliff, Ops, Article, Estimate, Overhead: the rows' families
  --benchmark_list_tests         their names; nothing runs
  --sweep FILE                   another sweep
  --config FILE                  a Hugging Face config.json in place of the sweep's models
Values with commas between them, which replace the sweep's
  --model NAMES, --precision TYPES, --optimizer NAMES, --batch N, --seq N, --generate N
  --lora RANK, --checkpoint full, --cache int8, --gpus N, --strategy NAMES
  --gpu CARDS, --vram SIZES      cards that rows are to fit, or that a larger GPU behaves as
Where
  --device NAME                  cuda (where a GPU answers), cpu, or virtual:h200, which predicts
Measuring
  --speed-seconds S              for timing each kind of step, 2 unless said; 0: memory only
  --profile FILE                 what driver and libraries take: --write-profile FILE measured it
What is kept
  --benchmark_out=FILE           a report, for build/compare
  --resume                       goes on where a run with --benchmark_out was ended
  --ledgers FOLDER               each row's ledger: build/compare names tensors by it
  --snapshot FILE, --trace FILE  one row over time, for PyTorch's memory_viz or Perfetto

Exit status: 0 all rows ran, 2 bad input, 3 a row failed or a file is not written, 130 interrupted.
Google Benchmark's flags work as well. bench --help all lists every flag.
)";
}

std::string whole_help(const CLI::App& app) {
  std::istringstream lines(app.help());
  std::string text;
  std::string flag;  // with all that it means, in one line
  const auto end_flag = [&] {
    if (!flag.empty()) text += wrapped(flag, kMeaning);
    flag.clear();
  };
  for (std::string line; std::getline(lines, line);) {
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin == kMeaning && !flag.empty()) {
      flag += " " + line.substr(begin);
      continue;
    }
    end_flag();
    if (line.starts_with("  -")) {
      flag = line;
    } else {
      text += line + "\n";
    }
  }
  end_flag();
  return text;
}

}  // namespace vramfit::bench
