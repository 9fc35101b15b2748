#include "bench/compare/moved.h"

#include <gtest/gtest.h>

#include "bench/ledgers/gzip.h"
#include "bench/ledgers/ledger_file.h"
#include "estimator/models.h"
#include "runtimes/vramfit/dry_run.h"
#include "tests/support/expect_bad_input.h"

namespace vramfit::bench {
namespace {

KeptEvent allocation(const std::string& name, std::uint64_t bytes, Stage stage = Stage::Backward) {
  return {Event::Kind::Allocate, stage, Category::Activations, 2, name, bytes, 512, 2048, bytes};
}

TEST(Moved, NothingWhereLedgersAreEqual) {
  const KeptLedger ledger{{allocation("a", 1)}, {}};
  EXPECT_EQ(compare::moved(ledger, ledger), std::nullopt);
}

TEST(Moved, NamesTheTensorsAndTheFirstEventAtWhichTheyPart) {
  const KeptLedger before{{allocation("x", 8), allocation("layers.0.up", 4)}, {}};
  const KeptLedger after{{allocation("x", 8), allocation("layers.0.up", 6),
                          allocation("layers.11.up", 6), allocation("layers.x", 1)},
                         {}};
  const auto moved = compare::moved(before, after);
  ASSERT_TRUE(moved);
  EXPECT_EQ(moved->event, 1U);
  EXPECT_EQ(moved->before, "backward of step 2 allocates layers.0.up (activations, 4 B at 512)");
  EXPECT_EQ(moved->after, "backward of step 2 allocates layers.0.up (activations, 6 B at 512)");
  ASSERT_EQ(moved->tensors.size(), 2U);
  EXPECT_EQ(moved->tensors[0].tensor, "layers.*.up");
  EXPECT_EQ(moved->tensors[0].count, 1);
  EXPECT_EQ(moved->tensors[0].bytes, 8);
  EXPECT_EQ(moved->tensors[1].tensor, "layers.x");
  EXPECT_EQ(compare::moved(before, {{allocation("x", 8)}, {}})->after, "") << "it has ended";
}

/// A real one: a training step's.
LedgerFile some_file() {
  const ModelConfig model = model_named("tinyllama-1.1b");
  TrainingOptions options;
  options.batch = 2;
  options.seq = 8;
  return {"Training/tiny", true, keep(dry_run({Arch{90}, kUnlimitedBytes}, model, options, 2))};
}

TEST(LedgerFile, IsReadAsItWasWritten) {
  LedgerFile file = some_file();
  ASSERT_GT(file.ledger.events.size(), 100U);
  file.ledger.segments = {{0, 0, 2097152}, {3, 2097152, -2097152}};
  file.ledger.events[3].requested += 1;
  const LedgerFile read = unpacked(packed(file), "test");
  EXPECT_EQ(read.row, file.row);
  EXPECT_TRUE(read.measured);
  EXPECT_EQ(read.ledger.events, file.ledger.events);
  EXPECT_EQ(read.ledger.segments, file.ledger.segments);
  EXPECT_EQ(packed(read), packed(file)) << "equal ledgers are equal files";
}

TEST(LedgerFile, HasTheHostsMemoryWhereThereIsSome) {
  const ModelConfig model = model_named("tinyllama-1.1b");
  TrainingOptions options;
  options.optimizer = optimizer_named("adamw-cpu");
  const LedgerFile file = {"Training/tiny", false, keep(dry_run({Arch{90}}, model, options, 2))};
  ASSERT_GT(file.ledger.host.size(), 100U);
  EXPECT_EQ(unpacked(packed(file), "test").ledger.host, file.ledger.host);
  EXPECT_TRUE(unpacked(packed(some_file()), "test").ledger.host.empty());
}

TEST(LedgerFile, DamageIsBadInput) {
  const std::string bytes = packed(some_file());
  for (std::size_t end = 0; end < bytes.size(); end += 101) {
    EXPECT_THROW(unpacked(bytes.substr(0, end), "cut"), BadInput) << end;
  }
  expect_bad_input([&] { unpacked(bytes + "x", "longer"); }, {"longer", "gzip"});
  expect_bad_input([] { unpacked("{}", "text"); }, {"text", "gzip"});
  expect_bad_input([] { unpacked(gzip("{}"), "empty"); }, {"empty", "schema"});
  expect_bad_input([] { gunzip(gzip(std::string(9999, 'x')), "large", 999); }, {"large", "much"});
}

TEST(LedgerFile, DamagedColumnsAreBadInput) {
  const nlohmann::json whole =
      nlohmann::json::parse(gunzip(packed(some_file()), "test", std::size_t{1} << 30));
  for (const auto& [key, values] : whole.at("events").items()) {
    nlohmann::json damaged = whole;
    damaged["events"][key] = nullptr;
    expect_bad_input([&] { unpacked(gzip(damaged.dump()), "damaged"); }, {"damaged", "events"});
    if (!values.is_array()) continue;
    damaged["events"][key] = nlohmann::json::array({nullptr});
    expect_bad_input([&] { unpacked(gzip(damaged.dump()), "damaged"); }, {"damaged", "events"});
  }
}

TEST(LedgerFile, ItsNameIsTheRowsAndNoPath) {
  EXPECT_EQ(ledger_path("f", "Training/a/batch:1"), "f/Training_a_batch-1.json.gz");
  EXPECT_EQ(ledger_path("f", "../../x").parent_path(), "f");
}

}  // namespace
}  // namespace vramfit::bench
