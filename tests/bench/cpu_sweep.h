#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "tests/bench/run_bench.h"
#include "tests/support/scratch_folder.h"

namespace vramfit::bench {

/// A sweep on the CPU, each row in a process of its own, with its files in a folder of its own.
class CpuSweep : public testing::Test {
 protected:
  CpuSweep() {
    std::filesystem::create_directory(folder_ / "tiny");
    std::filesystem::copy_file(VRAMFIT_FIXTURES "/tiny-gpt2/config.json", config_);
  }

  /// `rows` training rows that take so many seconds each, reported as JSON into out_.
  std::string arguments(int rows, double seconds, const std::string& more = "") const {
    std::string batches = "1";
    for (int batch = 2; batch <= rows; ++batch) batches += "," + std::to_string(batch);
    return "--device=cpu --config='" + config_.string() +
           "' --precision=fp32 --optimizer=sgd --attention=flash --seq=16 "
           "--benchmark_filter=Training --speed-seconds=" +
           std::to_string(seconds) + " --batch=" + batches + " --benchmark_out='" + out_.string() +
           "' " + more;
  }

  static std::string name_of(int batch) {
    return "Training/tiny/fp32/sgd/batch:" + std::to_string(batch) + "/seq:16";
  }

  /// What lies in out_, which must be JSON.
  nlohmann::json report() const { return nlohmann::json::parse(std::ifstream(out_)); }

  std::vector<std::string> journal() const {
    std::ifstream file(journal_);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

  /// Waits for so many rows to be in the journal.
  void wait_for_rows(std::size_t rows) const {
    wait_until([&] { return journal().size() >= rows; });
  }

  /// For a minute at most.
  static void wait_until(const std::function<bool()>& done) {
    for (int i = 0; i < 6000 && !done(); ++i) usleep(10'000);
    ASSERT_TRUE(done());
  }

  /// Marks what is in the journal, so that a report shows which rows are from there.
  void mark_journal() const {
    const std::vector<std::string> lines = journal();
    std::ofstream file(journal_);
    for (const std::string& line : lines) {
      nlohmann::json entry = nlohmann::json::parse(line);
      entry["result"]["label"] = "from the journal";
      file << entry.dump() << "\n";
    }
  }

  bool is_from_journal(int batch) const {
    return row_of(report(), name_of(batch)).at("label") == "from the journal";
  }

  const ScratchFolder folder_;
  const std::filesystem::path config_ = folder_ / "tiny" / "config.json";
  const std::filesystem::path out_ = folder_ / "out.json";
  const std::filesystem::path journal_ = folder_ / "out.json.journal";
};

}  // namespace vramfit::bench
