#include "bench/data/data_folder.h"
#include "tests/bench/cpu_sweep.h"

// What a row depends on, a resumed run looks at.

namespace vramfit::bench {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class Resume : public CpuSweep {
 protected:
  /// Measures two rows, and marks them in the journal.
  void measure(const std::string& more = "", const std::string& environment = "") {
    const Ended ended = run_bench(arguments(2, 0, more), environment);
    ASSERT_EQ(ended.exit, 0) << ended.err;
    mark_journal();
  }
  /// How many of them a resumed run takes from there.
  int taken(const std::string& more = "", const std::string& environment = "") {
    const Ended ended = run_bench(arguments(2, 0, "--resume " + more), environment);
    EXPECT_EQ(ended.exit, 0) << ended.err;
    return (is_from_journal(1) ? 1 : 0) + (is_from_journal(2) ? 1 : 0);
  }
  static void change(const fs::path& path, const std::function<void(Json&)>& how) {
    Json json = Json::parse(std::ifstream(path));
    how(json);
    std::ofstream(path) << json.dump();
  }
};

TEST_F(Resume, TakesWhatWasMeasuredUnderTheSameConditions) {
  measure();
  EXPECT_EQ(taken(), 2);
}

TEST_F(Resume, SeesThatTheConfigChanged) {
  measure();
  change(config_, [](Json& config) { config["n_layer"] = 1; });
  EXPECT_EQ(taken(), 0);
}

TEST_F(Resume, SeesThatTheDataChanged) {
  const fs::path data = folder_ / "data";
  fs::create_directory(data);
  for (const char* part : {"gpus.json", "other_gpus.json", "overheads.json", "releases.json",
                           "sweep.json", "article", "models"}) {
    fs::copy(data_folder(part), data / part, fs::copy_options::recursive);
  }
  const std::string environment = "VRAMFIT_DATA='" + data.string() + "'";
  measure("", environment);
  EXPECT_EQ(taken("", environment), 2);
  mark_journal();
  change(data / "gpus.json", [](Json& gpus) { gpus["cards"][0]["multiprocessors"]["value"] = 7; });
  EXPECT_EQ(taken("", environment), 0);
}

TEST_F(Resume, SeesThatTheProfileChanged) {
  const fs::path profile = folder_ / "profile.json";
  Json overhead = {{"source", "measured"}};
  for (const char* part : {"driver_reserved", "context", "cublaslt", "cudnn", "modules"}) {
    overhead[part] = {{"bytes", 1 << 20}, {"source", "measured"}};
  }
  std::ofstream(profile) << Json{{"schema", 1},         {"gpu", "G"},    {"driver", "1"},
                                 {"cuda", "1"},         {"cublas", "1"}, {"cudnn", "1"},
                                 {"overhead", overhead}};
  const std::string with = "--profile='" + profile.string() + "'";
  measure(with);
  EXPECT_EQ(taken(with), 2);
  mark_journal();
  change(profile, [](Json& json) { json["overhead"]["context"]["bytes"] = 2 << 20; });
  EXPECT_EQ(taken(with), 0);
}

// A row's name has its place in the sweep, all axes with it.
TEST_F(Resume, FollowsASweepThatChanged) {
  const fs::path sweep = folder_ / "sweep.json";
  const auto write = [&](const char* accumulate) {
    std::ofstream(sweep) << R"({"schema": 1, "families": [{"family": "Training",
      "model": ["llama2-7b"], "precision": ["fp32"], "optimizer": ["sgd"], "batch": [1],
      "seq": [16], "accumulate": [)"
                         << accumulate << "]}]}";
  };
  const std::string with = "--sweep='" + sweep.string() + "'";
  write("1");
  measure(with);
  write("1, 2");
  EXPECT_EQ(taken(with), 2);
  EXPECT_EQ(row_of(report(), name_of(1) + "/accumulate:2").at("ledger_equal"), 1);
}

TEST_F(Resume, SkipsDamagedLinesAndSaysSo) {
  measure();
  const std::vector<std::string> lines = journal();
  std::ofstream(journal_) << lines[0].substr(0, lines[0].size() / 2) << "\n" << lines[1] << "\n";
  const Ended ended = run_bench(arguments(2, 0, "--resume"));
  EXPECT_EQ(ended.exit, 0) << ended.err;
  EXPECT_EQ(count_of(ended.err, "bench: journal: 1 damaged line of "), 1) << ended.err;
  EXPECT_FALSE(is_from_journal(1));
  EXPECT_TRUE(is_from_journal(2));
}

}  // namespace
}  // namespace vramfit::bench
