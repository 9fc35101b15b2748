#include "bench/compare/comparison.h"

#include <gtest/gtest.h>

namespace vramfit::bench::compare {
namespace {

ReportRow measured(const std::map<std::string, Values>& counters) {
  return {"Training/tiny", true, "NVIDIA H200", "", counters};
}

RunFile run_of(const std::vector<ReportRow>& rows) { return {"run.json", {}, {}, rows}; }

/// What becomes of one row.
RowChange change(const ReportRow& before, const ReportRow& after, const Rules& rules = {}) {
  return compare_runs(run_of({before}), run_of({after}), rules).rows.at(0);
}

Status status(const std::map<std::string, Values>& before,
              const std::map<std::string, Values>& after, const Rules& rules = {}) {
  return change(measured(before), measured(after), rules).status;
}

TEST(Comparison, EachCounterHasADirection) {
  for (const char* bytes : {"mem_allocated", "mem_step2_backward_peak", "mem_reserved",
                            "mem_device_used", "median", "oom"}) {
    EXPECT_EQ(status({{bytes, {1}}}, {{bytes, {1}}}), Status::Same) << bytes;
    EXPECT_EQ(status({{bytes, {0}}}, {{bytes, {1}}}), Status::Worse) << bytes;
    EXPECT_EQ(status({{bytes, {1}}}, {{bytes, {0}}}), Status::Better) << bytes;
  }
  for (const char* more : {"mem_max_batch", "ledger_equal"}) {
    EXPECT_EQ(status({{more, {1}}}, {{more, {0}}}), Status::Worse) << more;
    EXPECT_EQ(status({{more, {0}}}, {{more, {1}}}), Status::Better) << more;
  }
}

TEST(Comparison, ErrorsMayDifferByAPartOfThemselves) {
  for (const char* error : {"logits_error", "trained_loss"}) {
    EXPECT_EQ(status({{error, {0.100}}}, {{error, {0.101}}}), Status::Same) << error;
    EXPECT_EQ(status({{error, {0.100}}}, {{error, {0.103}}}), Status::Worse) << error;
    EXPECT_EQ(status({{error, {0.100}}}, {{error, {0.097}}}), Status::Better) << error;
    EXPECT_EQ(status({{"oom", {0}}, {error, {0.1}}}, {{"oom", {0}}}), Status::Same)
        << error << " is not measured where no time is spent";
  }
  EXPECT_EQ(status({{"oom", {0}}, {"trained_loss_fp32", {1}}},
                   {{"oom", {0}}, {"trained_loss_fp32", {2}}}),
            Status::Same);
}

TEST(Comparison, SomethingWorseOutweighsWhatIsBetter) {
  EXPECT_EQ(status({{"mem_allocated", {5}}, {"mem_reserved", {6}}},
                   {{"mem_allocated", {4}}, {"mem_reserved", {7}}}),
            Status::Worse);
}

TEST(Comparison, WhatExplainsALevelDoesNotCountBesideIt) {
  for (const char* part : {"mem_activations", "mem_modules", "mem_unattributed", "mem_cudnn"}) {
    const RowChange row = change(measured({{"mem_allocated", {5}}, {part, {1}}}),
                                 measured({{"mem_allocated", {4}}, {part, {2}}}));
    EXPECT_EQ(row.status, Status::Better) << part;
    EXPECT_TRUE(row.changes.back().differs) << part;
  }
}

TEST(Comparison, LevelsOfARunThatWasCutShortSayNothing) {
  EXPECT_EQ(status({{"oom", {1}}, {"mem_allocated", {4}}}, {{"oom", {0}}, {"mem_allocated", {9}}}),
            Status::Better);
  EXPECT_EQ(status({{"oom", {0}}, {"mem_allocated", {9}}}, {{"oom", {1}}, {"mem_allocated", {4}}}),
            Status::Worse);
}

TEST(Comparison, AllocatedIsExactAndLevelsHaveATolerance) {
  const Rules rules{{10, 20, "somewhere"}, false, std::nullopt};
  EXPECT_EQ(status({{"mem_allocated", {5}}}, {{"mem_allocated", {6}}}, rules), Status::Worse);
  EXPECT_EQ(status({{"mem_reserved", {5}}}, {{"mem_reserved", {15}}}, rules), Status::Same);
  EXPECT_EQ(status({{"mem_reserved", {5}}}, {{"mem_reserved", {16}}}, rules), Status::Worse);
  EXPECT_EQ(status({{"mem_device_used", {5}}}, {{"mem_device_used", {25}}}, rules), Status::Same);
  EXPECT_EQ(status({{"mem_device_used", {26}}}, {{"mem_device_used", {5}}}, rules), Status::Better);
}

TEST(Comparison, OfRepetitionsTheWorstCounts) {
  EXPECT_EQ(status({{"mem_allocated", {3, 5, 4}}}, {{"mem_allocated", {5}}}), Status::Same);
  EXPECT_EQ(status({{"ledger_equal", {1, 1}}}, {{"ledger_equal", {0, 1}}}), Status::Worse);
}

TEST(Comparison, TimesCountOnlyWhenAskedAndThenByQuartiles) {
  const std::map<std::string, Values> before = {{"tokens_per_second", {98, 100, 102}}};
  const std::map<std::string, Values> slow = {{"tokens_per_second", {88, 90, 92}}};
  const std::map<std::string, Values> wide = {{"tokens_per_second", {60, 90, 120}}};
  EXPECT_EQ(status(before, slow), Status::Same);
  const Rules five{{}, false, 0.05};
  EXPECT_EQ(status(before, slow, five), Status::Worse);
  EXPECT_EQ(status(before, wide, five), Status::Same) << "its upper quartile is above";
  EXPECT_EQ(status(slow, before, five), Status::Same);
  EXPECT_EQ(status(before, slow, {{}, false, 0.2}), Status::Same);
  EXPECT_EQ(status({{"seconds", {1}}}, {{"seconds", {1.2}}}, five), Status::Worse);
  EXPECT_EQ(status({{"seconds", {1}}, {"oom", {0}}}, {{"oom", {0}}}, five), Status::Worse)
      << "gone";
}

TEST(Comparison, HowLongARowTookIsAsideWhereItHasOtherFigures) {
  const auto counters = [](const std::map<std::string, Values>& both) {
    return change(measured(both), measured(both)).changes.size();
  };
  EXPECT_EQ(counters({{"real_time", {1}}, {"mem_allocated", {1}}}), 1U);
  EXPECT_EQ(counters({{"real_time", {1}}}), 1U);
  EXPECT_EQ(counters({{"article_formula", {1}}}), 0U);
}

TEST(Comparison, PredictionsBesideWhatWasMeasuredAreShownAndDoNotCount) {
  const RowChange row = change(measured({{"mem_allocated", {5}}, {"pytorch_allocated", {5}}}),
                               measured({{"mem_allocated", {5}}, {"pytorch_allocated", {6}}}));
  EXPECT_EQ(row.status, Status::Same);
  EXPECT_TRUE(row.changes.back().differs);
  ReportRow before{"x", false, "virtual:h200", "", {{"pred_allocated", {5}}}};
  ReportRow after = before;
  after.counters["pred_allocated"] = {6};
  EXPECT_EQ(change(before, after).status, Status::Worse) << "nothing was measured";
}

TEST(Comparison, ACounterThatIsGoneIsWorse) {
  EXPECT_EQ(status({{"mem_allocated", {1}}, {"mem_reserved", {1}}}, {{"mem_allocated", {1}}}),
            Status::Worse);
  EXPECT_EQ(status({{"mem_allocated", {1}}}, {{"mem_allocated", {1}}, {"mem_reserved", {1}}}),
            Status::Same);
  EXPECT_EQ(status({{"tokens_per_second", {1}}, {"oom", {0}}}, {{"oom", {0}}}), Status::Same);
}

TEST(Comparison, OtherThingsAreNotComparable) {
  const ReportRow before = measured({{"mem_allocated", {1}}, {"params", {7}}});
  ReportRow other = before;
  other.card = "NVIDIA L40S";
  EXPECT_EQ(change(before, other).status, Status::NotComparable);
  EXPECT_EQ(change(before, other).why, "another card: NVIDIA H200, now NVIDIA L40S");
  EXPECT_EQ(change(before, other, {{}, true, {}}).status, Status::Same) << "as asked for";
  ReportRow revision = before;
  revision.counters["params"] = {8};
  EXPECT_EQ(change(before, revision).why, "another revision of the model: 7 parameters, now 8");
}

TEST(Comparison, WhatIsOnlyPredictedNowIsSaid) {
  const ReportRow before = measured({{"mem_allocated", {1}}, {"pred_allocated", {1}}});
  ReportRow after{before.name, false, before.card, "", {{"pred_allocated", {1}}}};
  EXPECT_EQ(change(before, after).status, Status::NotMeasured);
  EXPECT_FALSE(change(before, after).changes.front().worse) << "it is gone with the measurement";
  EXPECT_EQ(change(after, before).status, Status::Same);
  ReportRow failed = before;
  failed.error = "no driver";
  EXPECT_EQ(change(failed, after).status, Status::NotMeasured);
  after.counters["pred_allocated"] = {2};
  EXPECT_EQ(change(before, after).status, Status::Worse) << "allowing it hides no regression";
  after.card = "NVIDIA L40S";
  EXPECT_EQ(change(before, after).status, Status::NotComparable);
}

TEST(Comparison, AFailureIsWorseAndItsEndBetter) {
  const ReportRow fine = measured({{"mem_allocated", {1}}});
  ReportRow failed = measured({});
  failed.error = "no driver";
  EXPECT_EQ(change(fine, failed).status, Status::Worse);
  EXPECT_EQ(change(fine, failed).why, "failed: no driver");
  EXPECT_EQ(change(failed, fine).status, Status::Better);
  EXPECT_EQ(change(failed, failed).status, Status::Same);
  EXPECT_EQ(change(failed, fine).why, "failed before");
}

TEST(Comparison, PassesWhereSomethingWasComparedAndNothingIsWorse) {
  const auto rows = [](std::vector<RowChange> list) { return Comparison{std::move(list)}; };
  const Change both{"mem_allocated", Kind::Ledger, 1, 1, false, true, false};
  const RowChange same{"a", Status::Same, "", {both}};
  EXPECT_TRUE(passes(rows({same}), {}));
  EXPECT_TRUE(passes(rows({same, {"b", Status::Added, "", {}}}), {}));
  EXPECT_FALSE(passes(rows({}), {})) << "nothing was compared";
  EXPECT_FALSE(passes(rows({{"b", Status::Added, "", {}}}), {}));
  EXPECT_FALSE(passes(rows({same, {"b", Status::Worse, "", {both}}}), {true, true, true}));
  for (const Status left : {Status::Gone, Status::NotComparable, Status::NotMeasured}) {
    const Comparison with = rows({same, {"b", left, "", {}}});
    EXPECT_FALSE(passes(with, {}));
    EXPECT_TRUE(passes(
        with, {left == Status::Gone, left == Status::NotComparable, left == Status::NotMeasured}));
    EXPECT_FALSE(passes(rows({{"b", left, "", {}}}), {true, true, true})) << "never of nothing";
  }
}

TEST(Comparison, RowsAreJoinedByName) {
  const ReportRow row = measured({{"mem_allocated", {1}}});
  ReportRow other = row;
  other.name = "Training/other";
  const Comparison comparison = compare_runs(run_of({row}), run_of({other}), {});
  ASSERT_EQ(comparison.rows.size(), 2U);
  EXPECT_EQ(comparison.rows[0].status, Status::Gone);
  EXPECT_EQ(comparison.rows[1].status, Status::Added);
}

}  // namespace
}  // namespace vramfit::bench::compare
