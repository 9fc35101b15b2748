#include "estimator/timeline/history.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/estimator/timeline/ledgers.h"

namespace vramfit {
namespace {

std::uint64_t most_reserved(const KeptLedger& ledger) {
  std::uint64_t most = 0;
  for (const KeptEvent& e : ledger.events) most = std::max(most, e.reserved);
  return most;
}

class HistoryOf : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(, HistoryOf, testing::Values("pytorch", "vramfit"),
                         [](const auto& value) { return std::string(value.param); });

TEST_P(HistoryOf, ARunHasItsPeakAndItsSegments) {
  const KeptLedger ledger = small_ledger(GetParam());
  const History history = history_of(ledger);
  EXPECT_EQ(history.one_range, std::string(GetParam()) == "vramfit");
  EXPECT_EQ(ledger.events[history.events - 1].kind, Event::Kind::StageEnd);
  std::int64_t reserved = 0;
  std::int64_t most = 0;
  for (const SegmentChange& change : history.segments) {
    reserved += change.bytes;
    most = std::max(most, reserved);
  }
  EXPECT_EQ(static_cast<std::uint64_t>(most), most_reserved(ledger));
  // At the peak what lives adds up to it.
  std::uint64_t live = 0;
  for (const Allocation& a : history.allocations) {
    if (a.born <= history.peak_event && a.died > history.peak_event) live += a.counted_bytes;
  }
  EXPECT_EQ(live, history.peak);
  EXPECT_GT(live, 0U);
}

TEST_P(HistoryOf, BlocksTileTheSegments) {
  const KeptLedger ledger = small_ledger(GetParam());
  const History history = history_of(ledger);
  std::size_t in_use = 0;
  std::uint64_t before = 0;
  for (const PlacedSegment& segment : segments_at_end(ledger, history)) {
    EXPECT_GE(segment.offset, before) << "by address, apart";
    std::uint64_t at = segment.offset;
    bool free_before = false;
    for (const PlacedBlock& block : segment.blocks) {
      EXPECT_EQ(block.offset, at);
      EXPECT_GT(block.bytes, 0U);
      const bool is_free = block.allocation == History::kNone;
      EXPECT_FALSE(is_free && free_before) << "two free blocks side by side are one";
      free_before = is_free;
      in_use += is_free ? 0 : 1;
      at += block.bytes;
    }
    EXPECT_EQ(at, segment.offset + segment.bytes);
    before = at;
  }
  const auto lives = [](const Allocation& a) { return a.died == Allocation::kLives; };
  EXPECT_EQ(in_use, static_cast<std::size_t>(std::count_if(history.allocations.begin(),
                                                           history.allocations.end(), lives)));
}

TEST_P(HistoryOf, ARunThatRunsOutEndsThere) {
  const KeptLedger ledger = small_ledger(GetParam(), std::uint64_t{600} << 20);
  const History history = history_of(ledger);
  EXPECT_EQ(ledger.events[history.events - 1].kind, Event::Kind::OutOfMemory);
  EXPECT_FALSE(segments_at_end(ledger, history).empty());
}

TEST(History, CategoriesAreThoseOfThePeak) {
  const KeptLedger ledger = small_ledger("pytorch");
  const History history = history_of(ledger);
  CategoryBytes by_category;
  for (std::size_t i = 0; i <= history.peak_event; ++i) {
    const KeptEvent& e = ledger.events[i];
    if (e.kind == Event::Kind::Allocate) by_category[e.category] += e.bytes;
    if (e.kind == Event::Kind::Free) by_category[e.category] -= e.bytes;
    if (e.kind != Event::Kind::Relabel) continue;
    by_category[ledger.events[history.allocations[history.whose[i]].born].category] -= e.bytes;
    by_category[e.category] += e.bytes;
  }
  CategoryBytes told;
  for (const Allocation& a : history.allocations) {
    if (a.born <= history.peak_event && a.died > history.peak_event) {
      told[a.category] += a.counted_bytes;
    }
  }
  for (std::size_t c = 0; c < kCategories; ++c) {
    EXPECT_EQ(told[static_cast<Category>(c)], by_category[static_cast<Category>(c)])
        << kCategoryNames[c];
  }
}

TEST(History, OfNothingIsEmpty) {
  const History history = history_of({});
  EXPECT_EQ(history.events, 0U);
  EXPECT_TRUE(segments_at_end({}, history).empty());
}

}  // namespace
}  // namespace vramfit
