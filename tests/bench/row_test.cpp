#include "bench/row.h"

#include <gtest/gtest.h>

#include "bench/families.h"

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
}

}  // namespace
}  // namespace vramfit::bench
