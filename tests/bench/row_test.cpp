#include "bench/rows/row.h"

#include <gtest/gtest.h>

#include "bench/rows/families.h"
#include "bench/rows/sweep.h"
#include "model/errors.h"

namespace vramfit::bench {
namespace {

Row training() {
  Row row{&families().front(), {}};
  row[Axis::Model] = "llama2-7b";
  row[Axis::Precision] = "fp16";
  row[Axis::Optimizer] = "adamw";
  row[Axis::Batch] = "4";
  row[Axis::Seq] = "512";
  row[Axis::Attention] = "flash";
  row[Axis::Accumulate] = "1";
  row[Axis::Lora] = "none";
  row[Axis::LoraTargets] = "usual";
  row[Axis::Checkpoint] = "none";
  row[Axis::CheckpointEvery] = "1";
  return row;
}

TEST(Row, ReadsAsASentence) {
  EXPECT_EQ(training().name(), "Training/llama2-7b/fp16/adamw/batch:4/seq:512");
}

TEST(Row, LaterAxesAreNamedWhereUnusual) {
  Row row = training();
  row[Axis::Accumulate] = "16";
  EXPECT_EQ(row.name(), "Training/llama2-7b/fp16/adamw/batch:4/seq:512/accumulate:16");
  row[Axis::Attention] = "cublas";
  row[Axis::Gpu] = "rtx4090";
  EXPECT_EQ(row.name(),
            "Training/llama2-7b/fp16/adamw/batch:4/seq:512/attn:cublas/accumulate:16/gpu:rtx4090");
  row[Axis::Checkpoint] = "full";
  row[Axis::CheckpointEvery] = "2";
  EXPECT_NE(row.name().find("/gpu:rtx4090/checkpoint:full/every:2"), std::string::npos);
  row[Axis::Lora] = "16";
  row[Axis::LoraTargets] = "q_proj+o_proj";
  EXPECT_NE(row.name().find("/lora:16/targets:q_proj+o_proj/"), std::string::npos);
}

TEST(Row, EveryNameSaysItsRow) {
  for (const Row& row : expand(default_sweep())) {
    const Row parsed = parse_row(row.name());
    EXPECT_EQ(parsed.family, row.family) << row.name();
    EXPECT_EQ(parsed.values, row.values) << row.name();
  }
  Row row = training();
  row[Axis::Attention] = "cublas";
  row[Axis::Gpu] = "24GB";
  EXPECT_EQ(parse_row(row.name()).values, row.values);
}

TEST(Row, OtherNamesAreRefused) {
  for (const char* name :
       {"", "Training", "Learning/llama2-7b/fp16/adamw/batch:4/seq:512",
        "Training/llama2-7b/fp16/adamw/batch:4", "Training/llama2-7b/fp16/adamw/seq:512/batch:4",
        "Training/llama2-7b/fp16/adamw/batch:4/seq:512/colour:red",
        "Training/llama2-7b/fp16/adamw/batch:x/seq:512",
        "Training/llama2-7b/fp16/adam/batch:4/seq:2",
        "Training/llama2-7b/fp16/adamw/batch:4/seq:512/gpu:24QB"}) {
    EXPECT_THROW(parse_row(name), BadInput) << name;
  }
}

}  // namespace
}  // namespace vramfit::bench
