// What generate() asks for beside its forwards.
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "tests/runtimes/pytorch/cases.h"
#include "tests/runtimes/pytorch/events.h"

namespace vramfit::pytorch {
namespace {

// As 5.17 does of five prompts, on the stand-in: those that tell special tokens from others, up to
// the forward; then both criteria that stop it.
TEST(Generation, AsksOfTokensThatAreThere) {
  constexpr std::int64_t kPrompts = 5;
  ModelConfig model =
      model_of(read_lines(VRAMFIT_PYTORCH_FIXTURES "/qlora.jsonl").at(0).at("case"));
  TorchGeneration generation;
  generation.batch = kPrompts;
  generation.seq = 104;
  generation.generate = 2;
  ByteEvents events = events_of(run(h200(), measured_release(), model, generation), 1,
                                [](const Event&) { return true; });
  std::erase_if(events, [](std::int64_t e) { return std::abs(e) != 1 && std::abs(e) != kPrompts; });
  EXPECT_EQ(first_difference({1,  1,  1,  -1, -1, 1,  -1, -1, 1, 1,  -1, -1, 5,  -5, 1,  1,  1,  1,
                              1,  -1, -1, 1,  -1, 1,  -1, 1,  1, -1, -1, -1, -1, 1,  -1, 1,  -1, 1,
                              -1, 5,  5,  5,  -5, -5, 5,  5,  5, -5, -5, 5,  -5, 5,  -5, -5, 5},
                             events),
            "");
}

}  // namespace
}  // namespace vramfit::pytorch
