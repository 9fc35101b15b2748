// Tapes of scripts' runs: read with care, and played as PyTorch's allocator was asked.
#include "runtimes/recorded/run_tape.h"

#include <gtest/gtest.h>

#include <random>

#include "runtimes/pytorch/torch/memory/caching_allocator.h"
#include "runtimes/recorded/play.h"
#include "runtimes/recorded/workload.h"
#include "tests/support/expect_bad_input.h"

namespace vramfit::recorded {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

const std::string kHeader = R"(vramfit run-tape 1
made torch 2.11.0
command python train.py {batch}
gpu h200 90
vary batch seq
at 2 128
at 3 192
at 5 256
checked 7 320
)";

/// A parameter, then steps of which each has a block until the next has its own.
const std::string kSteps = R"(step 0
stage load
alloc 4194304 parameters
load blas 8388608
step 1
stage forward
alloc 4096*batch*seq activations
alloc 2048*batch*seq workspace when batch*seq above 1024 640 1280
free 1
stage optimizer
alloc 4194304 optimizer_state
step 2 repeats
stage forward
alloc 4096*batch*seq activations
free 0 of previous
alloc 2048*batch*seq workspace when batch*seq above 1024 640 1280
free 1
stage optimizer
)";

RunTape tape_of(const std::string& steps) { return read_run_tape(kHeader + steps); }

Gpu gpu_of(int sm) {
  Gpu gpu;
  gpu.arch.sm = sm;
  gpu.overhead.runtimes = std::make_shared<const std::vector<RuntimeOverhead>>(
      std::vector<RuntimeOverhead>{{"pytorch",
                                    "",
                                    {{"context", 100},
                                     {"cublas", 7},
                                     {"cublas_backward", 0},
                                     {"attention", 0},
                                     {"attention_backward", 0},
                                     {"streams", 0},
                                     {"process_group", 0},
                                     {"collectives", 0},
                                     {"more_communicators", 0},
                                     {"more_collectives", 0}}}});
  return gpu;
}

Outcome outcome(const std::string& steps, std::int64_t batch, std::int64_t seq,
                std::uint64_t capacity = kUnlimitedBytes, int count = 4) {
  const TapedRun run(std::make_shared<const RunTape>(tape_of(steps)), {batch, seq});
  Extent extent;
  extent.steps = count;
  return run.run(gpu_of(90), capacity, {}, extent);
}

RunReport played(const std::string& steps, std::int64_t batch, std::int64_t seq,
                 std::uint64_t capacity = kUnlimitedBytes, int count = 4) {
  return outcome(steps, batch, seq, capacity, count).report;
}

TEST(RunTape, SaysWhatItIsOf) {
  const RunTape tape = tape_of(kSteps);
  EXPECT_EQ(tape.command, "python train.py {batch}");
  EXPECT_EQ(command_of(kHeader + kSteps), tape.command);
  EXPECT_EQ(tape.gpu, "h200");
  EXPECT_EQ(tape.sm, 90);
  ASSERT_EQ(tape.varied.size(), 2U);
  EXPECT_EQ(tape.varied[1].least, 128);
  EXPECT_EQ(tape.varied[1].most, 320);
  EXPECT_EQ(tape.varied[1].recorded, 128);
  EXPECT_TRUE(tape.repeats);
  EXPECT_TRUE(tape.trains());
  EXPECT_FALSE(tape_of("step 0\nstage load\nalloc 1 inputs\n").trains());
}

TEST(RunTape, IsPlayedAtAnySize) {
  for (const std::int64_t batch : {4, 64}) {
    const RunReport report = played(kSteps, batch, 256);
    const auto tokens = static_cast<std::uint64_t>(batch) * 256;
    // Two steps' activations at once, as the second has its own before the first's go.
    EXPECT_EQ(report.peak.allocated, 8 * kMiB + 2 * 4096 * tokens) << batch;
    EXPECT_EQ(report.peak.by_category[Category::Parameters], 4 * kMiB);
    EXPECT_EQ(report.peak.step, 2);
  }
}

TEST(RunTape, WhatIsAskedForAboveASizeIsNotBelow) {
  const auto workspace = [&](std::int64_t batch) {
    std::uint64_t most = 0;
    for (const Event& event : played(kSteps, batch, 256).events) {
      const bool is = event.kind == Event::Kind::Allocate && event.category == Category::Workspace;
      if (is) most = std::max(most, event.requested);
    }
    return most;
  };
  EXPECT_EQ(workspace(4), 0U);
  EXPECT_EQ(workspace(5), 2048U * 5 * 256);
}

TEST(RunTape, AStepThatRepeatsIsPlayedAsOftenAsIsAsked) {
  EXPECT_EQ(played(kSteps, 4, 256, kUnlimitedBytes, 7).stages.back().step, 7);
  const std::string once =
      kSteps.substr(0, kSteps.find(" repeats")) + kSteps.substr(kSteps.find(" repeats") + 8);
  EXPECT_EQ(played(once, 4, 256, kUnlimitedBytes, 7).stages.back().step, 2);
}

TEST(RunTape, DoesWhatTheAllocatorDoes) {
  // The same by hand, on the allocator itself: sizes that split and merge.
  const std::string steps = R"(step 0
stage load
alloc 3145728 inputs
alloc 700*batch activations
alloc 5242880 activations
free 0
alloc 2097152 activations stream 1
alloc 2097152 activations
free 2
empty_cache
alloc 31457280 activations
)";
  pytorch::CachingAllocator allocator;
  const Block first = allocator.allocate(3145728);
  allocator.allocate(2100);
  const Block third = allocator.allocate(5242880);
  allocator.free(first);
  allocator.use(static_cast<pytorch::Stream>(1));
  allocator.allocate(2097152);
  allocator.use(pytorch::Stream::Default);
  allocator.allocate(2097152);
  allocator.free(third);
  allocator.empty_cache();
  allocator.allocate(31457280);
  const RunReport report = played(steps, 3, 192);
  EXPECT_EQ(report.stages.back().after, allocator.allocated());
  EXPECT_EQ(report.reserved, allocator.peak_reserved());
  EXPECT_EQ(report.stages.back().reserved, allocator.reserved());
}

TEST(RunTape, WhatAnotherStreamHasComesBackLater) {
  const std::string begin = "step 0\nstage load\nalloc 20971520 inputs\n";
  const RunReport kept = played(begin + "drop 0\nalloc 20971520 inputs\nfree 0\n", 2, 128);
  EXPECT_EQ(kept.peak.allocated, 20 * kMiB);
  EXPECT_EQ(kept.reserved, 40 * kMiB);
  const RunReport back = played(begin + "drop 0\nfree 0\nalloc 20971520 inputs\n", 2, 128);
  EXPECT_EQ(back.reserved, 20 * kMiB);
}

TEST(RunTape, LibrariesAreTheCardsOwn) {
  const Outcome told = outcome(kSteps, 4, 256);
  EXPECT_EQ(told.overhead.context, 100U);
  EXPECT_EQ(told.overhead.libraries, 7U);  // and not the 8388608 of the card that it was made on
  EXPECT_EQ(told.report.stages.back().device_used, told.report.stages.back().reserved + 107);
}

TEST(RunTape, CublassWorkspaceIsTheCardsOwn) {
  const std::string steps = R"(step 0
stage load
alloc 33554432 workspace
load blas 1
alloc 512 workspace
alloc 33554432 workspace
alloc 33554432 workspace
)";
  const auto allocated = [&](int sm) {
    const TapedRun run(std::make_shared<const RunTape>(tape_of(steps)), {2, 128});
    return run.run(gpu_of(sm), kUnlimitedBytes, {}, {}).report.peak.allocated;
  };
  EXPECT_EQ(allocated(90), 3 * 32 * kMiB + 512);
  EXPECT_EQ(allocated(89), 2 * 32 * kMiB + 512 + 8519680);
}

TEST(RunTape, RunningOutIsAResult) {
  const RunReport report = played(kSteps, 64, 256, 128 * kMiB);
  ASSERT_TRUE(report.missing);
  EXPECT_EQ(report.missing->stage, Stage::Forward);
  EXPECT_EQ(report.missing->step, 2);
  EXPECT_EQ(report.missing->requested, 4096U * 64 * 256);
  EXPECT_TRUE(report.stages.back().out_of_memory);
}

TEST(RunTape, SaysWhereItWasNotRecorded) {
  const auto notes = [&](std::int64_t batch, std::int64_t seq) {
    std::string all;
    for (const std::string& note : outcome(kSteps, batch, seq).notes) all += note + "\n";
    return all;
  };
  EXPECT_EQ(notes(2, 320), "");
  EXPECT_NE(notes(4, 256).find("between 640 and 1280"), std::string::npos);
  EXPECT_NE(notes(8, 320).find("batch 8 is beyond"), std::string::npos);
}

struct Refused {
  const char* steps;
  const char* line;
  const char* why;
};

TEST(RunTape, WhatIsNoneIsRefusedAtItsLine) {
  const Refused cases[] = {
      {"", "has no step", ""},
      {"stage load\n", "line 10", "no step has begun"},
      {"alloc 1 inputs\n", "line 10", "no step has begun"},
      {"step 1\n", "line 10", "not in order"},
      {"step 0\nalloc 1 inputs\n", "line 11", "no stage has begun"},
      {"step 0\nstage sideways\n", "line 11", "is no stage"},
      {"step 0\nstage load\nalloc 1 magic\n", "line 12", "is nothing that an allocation is for"},
      {"step 0\nstage load\nalloc 1 inputs stream 99\n", "line 12", "from 0 to 31"},
      {"step 0\nstage load\nalloc 1 inputs more\n", "line 12", "more than belongs"},
      {"step 0\nstage load\nalloc width*2 inputs\n", "line 12", "none of what is varied"},
      {"step 0\nstage load\nalloc 1+ inputs\n", "line 12", "no size"},
      {"step 0\nstage load\nalloc batch/(seq-128) inputs\n", "line 12", "divides by 0"},
      {"step 0\nstage load\nfree 0\n", "line 12", "that nothing made"},
      {"step 0\nstage load\nalloc 1 inputs\nfree 0\nfree 0\n", "line 14", "that was freed"},
      {"step 0\nstage load\nalloc 1 inputs\ndrop 0\ndrop 0\n", "line 14", "that was dropped"},
      {"step 0\nstage load\nalloc 1 inputs\nfree 99999999999\n", "line 13", "no whole number"},
      {"step 0\nstage load\nalloc 1 inputs\nfree 0 of 0\n", "line 13", "is not over"},
      {"step 0\nstage load\nload gpu 1\n", "line 12", "no code of the driver's"},
      {"step 0\nstage load\nload blas -1\n", "line 12", "no whole number"},
      {"step 0\nstage load\nalloc 1 inputs when batch over 1 2 3\n", "line 12", "'above'"},
      {"step 0\nstage load\nalloc 1 inputs when other above 1 2 3\n", "line 12", "none of what"},
      {"step 0\nstep 1 repeats\n", "line 11", "from the second on"},
      {"step 0\nstep 1\nstep 2 repeats\nstep 3\n", "line 13", "nothing comes behind"},
      {"step 0\nstage load\nalloc 1 inputs\nstep 1\nstep 2 repeats\nstage forward\nfree 0 of 0\n",
       "line 16", "no block of a numbered step"},
      {"vary batch\nstep 0\n", "line 10", "is there twice"},
      {"vary 1x\nstep 0\n", "line 10", "is no name"},
      {"vary width\nstep 0\n", "line 11", "does not say what width was"},
      {"at 0 1\nstep 0\n", "line 10", "batch is 0"},
      {"dance\n", "line 10", "is no statement"},
  };
  for (const auto& [steps, line, why] : cases) {
    SCOPED_TRACE(steps);
    expect_bad_input([&] { tape_of(steps); }, {line, why});
  }
  expect_bad_input([] { read_run_tape("vramfit tape 1\n"); }, {"line 1", "run-tape 1"});
  expect_bad_input([] { read_run_tape(""); }, {"has no step"});
}

TEST(RunTape, AStepThatRepeatsFreesNothingTwice) {
  const std::string steps = R"(step 0
stage load
step 1
stage forward
alloc 512 activations
step 2 repeats
stage forward
alloc 512 activations
free 0
free 0 of previous
)";
  expect_bad_input([&] { tape_of(steps); }, {"behind itself", "that was freed"});
}

TEST(RunTape, SizesThatAreNoneThereAreRefused) {
  const auto at = [](const char* size, std::int64_t batch) {
    played(std::string("step 0\nstage load\nalloc ") + size + " inputs\n", batch, 1);
  };
  expect_bad_input([&] { at("512*(batch-2)", 2); }, {"line 12", "asks for 0 bytes"});
  expect_bad_input([&] { at("2-batch", 9); }, {"line 12", "asks for -7 bytes"});
  expect_bad_input([&] { at("batch*batch*batch*batch", std::int64_t{1} << 40); },
                   {"line 12", "overflows 64 bits"});
  expect_bad_input([&] { at("1024*batch", std::int64_t{1} << 42); }, {"line 12", "bytes at these"});
  // Nobody asks for it there.
  EXPECT_NO_THROW(at("512*(batch-2)", 3));
  EXPECT_NO_THROW(
      played("step 0\nstage load\nalloc 512*(batch-2) inputs when batch above 2 2 3\n", 2, 1));
}

TEST(RunTape, MoreStatementsThanATapeHasAreRefused) {
  std::string steps = "step 0\nstage load\n";
  constexpr int kLines = 1 << 20;
  steps.reserve(steps.size() + 17 * std::size_t{kLines});
  for (int i = 0; i < kLines; ++i) steps += "alloc 512 inputs\n";
  expect_bad_input([&] { tape_of(steps); }, {"more statements"});
}

TEST(RunTape, WhateverIsChangedItIsReadOrRefused) {
  const std::string text = kHeader + kSteps;
  std::mt19937 random(7);
  int read = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string changed = text;
    const std::size_t at = random() % changed.size();
    switch (random() % 3) {
      case 0:
        changed[at] = static_cast<char>(random() % 128);
        break;
      case 1:
        changed.erase(at, random() % 9);
        break;
      default:
        changed.insert(at, changed.substr(random() % changed.size(), random() % 30));
    }
    try {
      const auto tape = std::make_shared<const RunTape>(read_run_tape(changed));
      std::vector<std::int64_t> values(tape->varied.size(), 3);
      const TapedRun run(tape, values);
      run.validate({});
      ++read;
    } catch (const BadInput&) {
      continue;
    }
  }
  EXPECT_GT(read, 100);
}

}  // namespace
}  // namespace vramfit::recorded
