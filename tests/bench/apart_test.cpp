#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/bench/run_bench.h"
#include "tests/support/scratch_folder.h"

// Rows on a real device run in processes of their own; on a CPU as on a GPU.

namespace vramfit::bench {
namespace {

using Json = nlohmann::json;

const std::string kTiny =
    "--device=cpu --config='" VRAMFIT_FIXTURES
    "/tiny-gpt2/config.json' --precision=fp32 --optimizer=sgd --attention=flash --seq=16 ";
const std::string kNoSpeed = "--speed-seconds=0 ";

std::string name_of(int batch) {
  return "Training/tiny-gpt2/fp32/sgd/batch:" + std::to_string(batch) + "/seq:16";
}

class Apart : public testing::Test {
 protected:
  /// Runs three rows, reported into out_.
  Ended sweep(const std::string& more) {
    return run_bench(kTiny + kNoSpeed +
                     "--benchmark_filter=Training --batch=1,2,3 --benchmark_out='" + out_ + "' " +
                     more);
  }
  Json report() const { return Json::parse(std::ifstream(out_)); }

  /// The journal as a kill leaves it: its first row, marked, and half of the second.
  void kill_after_one_row() {
    std::ifstream whole(out_ + ".journal");
    std::string first;
    std::string second;
    std::getline(whole, first);
    std::getline(whole, second);
    Json entry = Json::parse(first);
    entry["result"]["label"] = "from the journal";
    std::ofstream(out_ + ".journal") << entry.dump() << "\n" << second.substr(0, second.size() / 2);
  }

  const ScratchFolder folder_;
  const std::string out_ = folder_ / "out.json";
};

TEST_F(Apart, AKilledSweepResumesWhereItStopped) {
  ASSERT_EQ(sweep("").exit, 0);
  kill_after_one_row();
  const Ended resumed = sweep("--resume");
  ASSERT_EQ(resumed.exit, 0) << resumed.err;
  const Json whole = report();
  EXPECT_EQ(row_of(whole, name_of(1)).at("label"), "from the journal");
  for (const int batch : {2, 3}) {
    const std::string label = row_of(whole, name_of(batch)).at("label");
    EXPECT_EQ(label.find("measured, cpu"), 0U) << label;
  }
}

TEST_F(Apart, RowsOfOtherFlagsAreMeasuredAgain) {
  ASSERT_EQ(sweep("").exit, 0);
  kill_after_one_row();
  ASSERT_EQ(sweep("--resume --tf32").exit, 0);
  EXPECT_NE(row_of(report(), name_of(1)).at("label"), "from the journal");
}

TEST_F(Apart, SaysHowFarItIs) {
  const Ended ended = sweep("");
  EXPECT_EQ(count_of(ended.err, "bench: 1 of 3, " + name_of(1) + "\n"), 1) << ended.err;
  EXPECT_EQ(count_of(ended.err, " s left, " + name_of(3) + "\n"), 1) << ended.err;
}

TEST_F(Apart, ARowThatFailsIsAnErrorAndTheSweepGoesOn) {
  // The kernel kills what computes for more than a second.
  const std::string endless = kTiny +
                              "--speed-seconds=100 --benchmark_filter=Training "
                              "--batch=16,17 --benchmark_format=json";
  const Ended ended = run_bench(endless, "prlimit --cpu=1:1");
  EXPECT_EQ(ended.exit, 3) << ended.err;
  EXPECT_EQ(count_of(ended.err, "bench: error: 2 rows failed"), 1) << ended.err;
  const Json report = Json::parse(ended.out);
  for (const Json& row : report.at("benchmarks")) {
    const std::string why = row.value("error_message", "none");
    EXPECT_EQ(why.find("the row's process died of signal "), 0U) << why;
  }
}

TEST_F(Apart, TheCardToBeIsANameAndALimit) {
  const Json small =
      report_of(kTiny + kNoSpeed + "--benchmark_filter=Training --batch=2,512 --vram=40MB");
  const Json& fits = row_of(small, name_of(2) + "/gpu:40MB");
  EXPECT_EQ(fits.at("oom"), 0);
  EXPECT_EQ(fits.at("pred_oom"), 0);
  const Json& too_large = row_of(small, name_of(512) + "/gpu:40MB");
  EXPECT_EQ(too_large.at("oom"), 1);
  EXPECT_EQ(too_large.at("pred_oom"), 1);
  EXPECT_EQ(too_large.at("ledger_equal"), 1);
  EXPECT_LT(too_large.at("mem_reserved"), 40e6);
  EXPECT_GT(too_large.at("pred_reserved"), 40e6);
}

TEST_F(Apart, TheCliffIsWhereItWasPredicted) {
  const Json report = report_of(
      "--device=cpu --config='" VRAMFIT_FIXTURES
      "/tiny-gpt2/config.json' --precision=fp32 --optimizer=adamw --attention=flash --seq=16 "
      "--vram=1MB,36MB --benchmark_filter=OomCliff");
  ASSERT_EQ(report.at("benchmarks").size(), 2U);
  const auto cliff = [&](const char* gpu) {
    return row_of(report, std::string("OomCliff/tiny-gpt2/fp32/adamw/seq:16/gpu:") + gpu);
  };
  for (const Json& row : report.at("benchmarks")) {
    EXPECT_EQ(row.at("mem_max_batch"), row.at("pred_max_batch")) << row.at("name");
  }
  EXPECT_EQ(cliff("1MB").at("mem_max_batch"), 0);
  EXPECT_EQ(cliff("1MB").count("mem_allocated"), 0U);
  EXPECT_GT(cliff("36MB").at("mem_max_batch"), 1);
  EXPECT_EQ(cliff("36MB").at("mem_allocated"), cliff("36MB").at("pred_allocated"));
}

}  // namespace
}  // namespace vramfit::bench
