#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "model/optimizer/optimizer_kind.h"
#include "model/printable.h"
#include "tests/bench/run_bench.h"
#include "tests/support/scratch_folder.h"

namespace vramfit::bench {
namespace {

constexpr const char* kNotice = "figures are predicted, on virtual:h200";

TEST(Command, SaysWhenItPredictsForWantOfAGpu) {
  const Ended chosen = run_bench("--device=virtual:h200 --benchmark_list_tests");
  EXPECT_EQ(chosen.err.find(kNotice), std::string::npos) << chosen.err;
  const Ended fallen = run_bench("--benchmark_list_tests");
  EXPECT_EQ(count_of(fallen.err, kNotice), 1) << fallen.err;
  EXPECT_EQ(fallen.out, chosen.out);
}

TEST(Command, SaysItsVersionInOneLine) {
  const Ended ended = run_bench("--version");
  EXPECT_EQ(ended.exit, 0) << ended.err;
  EXPECT_EQ(ended.out.rfind("vramfit ", 0), 0U) << ended.out;
  EXPECT_EQ(count_of(ended.out, "\n"), 1);
}

TEST(Command, ListsFrozenNames) {
  const Ended ended = run_bench("--device=virtual:h200 --benchmark_list_tests");
  EXPECT_EQ(ended.exit, 0);
  EXPECT_EQ(count_of(ended.out, "\n"), 467 + 12 + 8);
  EXPECT_EQ(count_of(ended.out, "Training/llama2-7b/fp16/adamw/batch:4/seq:512\n"), 1);
  EXPECT_EQ(count_of(ended.out, "Estimate/training/llama2-7b\n"), 1);
  EXPECT_EQ(ended.out.find("iterations:"), std::string::npos);
}

TEST(Command, ReadsGoogleBenchmarksEnvironment) {
  const Ended ended = run_bench("--benchmark_list_tests", "BENCHMARK_FILTER=KvCache/mistral");
  EXPECT_EQ(count_of(ended.out, "\n"), 4);
}

TEST(Command, AConsoleLineHasTheFewFiguresThatMatter) {
  const Ended ended = run_bench("--benchmark_filter=KvCache/llama2-7b/fp16/batch:8/seq:2048$");
  EXPECT_EQ(ended.exit, 0);
  EXPECT_EQ(ended.out.find("device virtual:h200, evidence predicted, commit "), 0U) << ended.out;
  EXPECT_NE(ended.out.find("\nrow "), std::string::npos) << ended.out;
  EXPECT_NE(ended.out.find("\nKvCache/llama2-7b/fp16\n  batch:8/seq:2048  "), std::string::npos);
  EXPECT_EQ(count_of(ended.out + ended.err, "DEBUG"), 0);
  EXPECT_EQ(count_of(ended.out, "none"), 0);
}

TEST(Command, ConsoleLinesFitAScreen) {
  const Ended ended = run_bench(
      "--device=virtual:h200 --benchmark_min_time=0.001 "
      "--benchmark_filter='llama2-7b|gpt2-1.5b|Article|Estimate'");
  EXPECT_EQ(ended.exit, 0) << ended.err;
  std::istringstream lines(ended.out);
  for (std::string line; std::getline(lines, line);) {
    const int columns = static_cast<int>(line.size()) - 2 * count_of(line, "…");  // of three bytes
    EXPECT_LE(columns, 100) << line;
  }
  EXPECT_GT(count_of(ended.out, "batch "), 0) << "of OomCliff";
  EXPECT_GT(count_of(ended.out, " ms\n") + count_of(ended.out, " us\n"), 0) << "of Estimate";
}

TEST(Command, HelpIsAScreenAndAllOfIt) {
  const Ended screen = run_bench("--help");
  EXPECT_EQ(screen.exit, 0) << screen.err;
  EXPECT_LE(count_of(screen.out, "\n"), 40);
  const Ended all = run_bench("--help all");
  EXPECT_EQ(all.exit, 0) << all.err;
  std::istringstream lines(screen.out + all.out);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 100U) << line;
    // Every flag of the screen is one.
    for (std::size_t at = 0; (at = line.find("--", at)) != std::string::npos; ++at) {
      const std::string flag = line.substr(at, line.find_first_of(" ,:;=)]", at) - at);
      EXPECT_NE(all.out.find(flag), std::string::npos) << flag;
    }
  }
  const Ended other = run_bench("--help rows");
  EXPECT_EQ(other.exit, 2);
  EXPECT_EQ(other.err, "bench: error: help: is 'rows'; all, or nothing\n");
}

TEST(Command, RefusalsNameFlagsThatBenchHas) {
  for (const char* wrong : {"--model=nope", "--model=gemma-2b", "--gpu=nope", "--precision=nf4"}) {
    const Ended ended = run_bench(std::string(wrong) + " --benchmark_filter=Training");
    EXPECT_EQ(ended.exit, 2);
    for (const char* not_ours : {"--params", "Hugging Face id", "or another --runtime"}) {
      EXPECT_EQ(ended.err.find(not_ours), std::string::npos) << ended.err;
    }
  }
}

TEST(Command, OverheadNeedsAGpu) {
  const Ended ended = run_bench("--device=virtual:h200 --benchmark_filter=Overhead");
  EXPECT_EQ(ended.exit, 2);
  EXPECT_EQ(count_of(ended.err, "benchmark_filter: Overhead is measured on a GPU"), 1) << ended.err;
}

TEST(Command, WritesAFileInEachFormat) {
  const ScratchFolder folder;
  const auto path = folder / "out";
  for (const char* format : {"json", "csv", "console"}) {
    const Ended ended = run_bench("--benchmark_filter='KvCache|OomCliff/gpt2' --benchmark_out='" +
                                  path.string() + "' --benchmark_out_format=" + format);
    EXPECT_EQ(ended.exit, 0) << ended.err;
    const std::string text = text_of(path);
    // Both families' rows, though their counters differ. A console has their sizes in lines below.
    const bool whole = format != std::string("console");
    EXPECT_EQ(count_of(text, whole ? "OomCliff/gpt2-1.5b/fp16/adamw/seq:512/gpu:rtx4090"
                                   : "OomCliff/gpt2-1.5b/fp16/adamw\n  seq:512/gpu:rtx4090 "),
              format == std::string("json") ? 2 : 1)
        << format;
    EXPECT_GE(count_of(text, whole ? "KvCache/" : "\n  batch:"), 12) << format;
  }
}

TEST(Command, TakesASweepOfOnesOwn) {
  const ScratchFolder folder;
  const auto path = folder.write("sweep.json", R"({"schema": 1, "families": [
    {"family": "Inference", "model": ["gpt2-124m"], "precision": ["fp16"], "batch": [1],
     "seq": [128], "generate": [2]}]})");
  const Ended ended = run_bench("--benchmark_list_tests --sweep='" + path.string() + "'");
  EXPECT_EQ(ended.out.find("Inference/gpt2-124m/fp16/batch:1/seq:128/generate:2\n"), 0U)
      << ended.out;
}

TEST(Command, TakesEveryOptimizer) {
  for (const OptimizerKind& kind : optimizer_kinds()) {
    const std::string run = "--device=virtual:h200 --optimizer=" + std::string(kind.name);
    EXPECT_EQ(run_bench(run + " --benchmark_list_tests").exit, 0) << kind.name;
    const Ended ended = run_bench(run + " --benchmark_filter=MultiGpu/llama2-7b.*/gpus:1");
    EXPECT_EQ(ended.exit, 0) << kind.name << ended.err;
  }
}

TEST(Command, SaysWhatItLeftOut) {
  const Ended ended = run_bench(
      "--device=virtual:h200 --precision=fp32 --benchmark_filter=Training "
      "--benchmark_list_tests");
  EXPECT_EQ(ended.exit, 0);
  EXPECT_EQ(count_of(ended.err, "rows left out: optimizer: "), 2) << ended.err;
}

struct Bad {
  const char* arguments;
  const char* field;  ///< what the line is about
};

constexpr Bad kBad[] = {
    {"--nonsense", "--nonsense"},
    {"nonsense", "nonsense"},
    {"--benchmark_filter=nonsense", "benchmark_filter"},
    {"--benchmark_filter='('", "benchmark_filter"},
    {"--benchmark_format=xml", "benchmark_format"},
    {"--benchmark_out=/no/such/folder/x", "benchmark_out"},
    {"--model=llama2-8b", "model"},
    {"--config=/no/such/file", "config"},
    {"--config=x --model=llama2-7b", "config"},
    {"--sweep=/no/such/file", "sweep"},
    {"--device=tpu", "device"},
    {"--config=/dev/zero", "config: cannot read '/dev/zero': it is no regular file"},
    {"--sweep=/dev/zero", "sweep: cannot read '/dev/zero': it is no regular file"},
    {"--profile=/dev/zero", "profile: cannot read '/dev/zero': it is no regular file"},
    {"--config=/dev", "config: cannot read '/dev/config.json': there is none"},
    {"--model=$(printf '\\033[31m\\377')", "model: unknown '?[31m?'"},
    {"--$(printf '\\033')=1", "'--?=1' is no flag"},
    {"--benchmark_filter=$(printf 'x%01000d' 0)", "benchmark_filter"},
    {"--device=cuda", "device"},
    {"--device=cuda:7", "device"},
    {"--device=gpu", "device: unknown 'gpu'; one of cuda, cuda:INDEX, cpu, virtual:NAME"},
    {"--device=virtual:gpu",
     "device: virtual:gpu is no card; virtual:NAME with one that vramfit --list"},
    {"--device=virtual:0GB", "device: is '0GB'; the size of a GPU"},
    {"--device=cuda:", "one of cuda, cuda:INDEX, cpu, virtual:NAME[,NAME]"},
    {"--device=cuda:x", "device"},
    {"--device=virtual:", "device"},
    {"--device=virtual:tpu", "device"},
    {"--gpu=tpu", "gpu"},
    {"--batch=0", "batch"},
    {"--batch", "--batch"},
    {"--benchmark_repetitions", "'--benchmark_repetitions' is no flag, or lacks its =VALUE"},
    {"--benchmark_context=device=x", "benchmark_context: 'device' is bench's own"},
    {"--batch=1048576 --seq=16777216 --model=llama2-7b --benchmark_filter=Training",
     "with 1048576 x 16777216 tokens takes more than 2^50 bytes; smaller"},
    {"--batch=1048576 --seq=16777216 --model=llama2-7b --attention=cublas "
     "--benchmark_filter=Inference",
     "with 1048576 x 16777216 tokens takes more than 2^50 bytes; smaller"},
    {"--benchmark_out=x --journal=x", "journal: 'x' is --benchmark_out's file"},
    {"--seq=99999999999999999999", "seq"},
    {"--model=gpt2-124m --seq=4096", "seq"},
    {"--precision=fp32 --optimizer=adamw-master", "optimizer"},
    {"--precision=fp64", "precision"},
    {"--model=gemma-2b", "gemma"},
    {"--gpu=rtx4090 --benchmark_filter=Training", "gpu"},
    {"--benchmark_filter=Ops", "Ops times a real device, and virtual:h200 is none; --device=cuda"},
    {"--benchmark_filter=Ops/.*/head_loss --model=gpt2-124m", "Ops times a real device"},
};

TEST(Command, PipesAreNotWaitedFor) {
  const ScratchFolder folder;
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string flag : {"config", "sweep", "profile"}) {
    const Ended ended = run_bench("--" + flag + "='" + pipe + "'");
    EXPECT_EQ(ended.exit, 2);
    EXPECT_EQ(count_of(ended.err, "bench: error: " + flag + ": cannot read '" + pipe), 1)
        << ended.err;
  }
}

TEST(Command, DamagedDataIsNotTakenForAConfig) {
  const ScratchFolder data;
  data.write("gpus.json", "{\"schema\": 2, ");
  const Ended ended =
      run_bench("--device=virtual:h200", "VRAMFIT_DATA='" + data.path().string() + "'");
  EXPECT_EQ(ended.exit, 2);
  EXPECT_EQ(count_of(ended.err, "gpus.json: not valid JSON at byte 15"), 1) << ended.err;
  EXPECT_EQ(ended.err.find("config.json"), std::string::npos) << ended.err;
}

TEST(Command, BadInputGetsOneLineAndExitTwo) {
  for (const Bad& bad : kBad) {
    const Ended ended = run_bench(bad.arguments);
    EXPECT_EQ(ended.exit, 2) << bad.arguments;
    EXPECT_EQ(ended.out, "") << bad.arguments;
    ASSERT_EQ(count_of(ended.err, "bench: error: "), 1) << bad.arguments << ": " << ended.err;
    const auto line = ended.err.substr(ended.err.find("bench: error: "));
    EXPECT_NE(line.find(bad.field), std::string::npos) << line;
    EXPECT_EQ(count_of(line, "\n"), 1) << line;
    EXPECT_LE(line.size(), 200U) << line;
    EXPECT_EQ(printable(line.substr(0, line.size() - 1)) + "\n", line);
  }
}

}  // namespace
}  // namespace vramfit::bench
