// Tapes as they are read, and refused.
#include "runtimes/pytorch/transformers/taped/op_tape.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "model/errors.h"
#include "model/text_file.h"

namespace vramfit::pytorch {
namespace {

std::string refusal(const std::string& text) {
  try {
    const OpTape tape = read_op_tape(text);
    for (const auto& [name, program] : tape.written) tape.program(name);
  } catch (const BadInput& refused) {
    return refused.what();
  }
  return "none";
}

TEST(OpTape, ThatIsNoneIsRefusedAtItsLine) {
  const std::string head = "vramfit tape 1\n";
  EXPECT_EQ(refusal("{}"), "tape: line 1: does not begin 'vramfit tape 1'");
  EXPECT_EQ(refusal(head + "modle_type llama"),
            "tape: line 2: 'modle_type' begins no line of a tape");
  EXPECT_EQ(refusal(head + "program train\nmain\n%0 = neg %x\nend\nend"),
            "tape: line 4: '%x' is no register");
  EXPECT_EQ(refusal(head + "program train\nmain\n%0 = neg %999999999\nend\nend"),
            "tape: line 4: '%999999999' is no register");
  EXPECT_EQ(refusal(head + "program train\nmain\n%0 = zeros [B*,2]\nend\nend"),
            "tape: line 4: 'B*' is no size that a tape can have");
  EXPECT_EQ(refusal(head + "program train\nmain\n"), "tape: line 3: ends early");
  EXPECT_EQ(refusal(head + "program train eager\nmain as train\nend"),
            "tape: line 3: no part 'main train' came before");
  EXPECT_EQ(refusal(head + "default x " + std::string(100, '(')),
            "tape: line 2: '" + std::string(100, '(') + "' is no size that a tape can have");
}

/// Programs are read when they are asked for: here all of them are.
TEST(OpTape, EachProgramOfEachTapeIsRead) {
  std::size_t programs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(VRAMFIT_REFERENCE "/../tapes")) {
    const std::string path = entry.path().string();
    if (!path.ends_with(".tape")) continue;
    const OpTape tape = read_op_tape(read_text_file(path, "tape", "a tape", std::size_t{1} << 20));
    for (const auto& [name, program] : tape.written) {
      EXPECT_NO_THROW(tape.program(name)) << path << ": " << name;
      ++programs;
    }
  }
  EXPECT_GT(programs, 700U);
}

TEST(OpTape, SaysWhoseReentrantCheckpointsAreNotKnown) {
  const std::string line = "vramfit tape 1\nwithout reentrant checkpointing";
  EXPECT_FALSE(read_op_tape(line).reenters);
  EXPECT_TRUE(read_op_tape(line + " eager").reenters);
  EXPECT_FALSE(read_op_tape(line + " eager").reenters_eagerly);
}

TEST(OpTape, SaysWhichLinearsGiveMoreThanATensor) {
  const OpTape tape = read_op_tape("vramfit tape 1\ntuple_targets router");
  EXPECT_TRUE(tape.gives_tuple(".mlp.router.weight"));
  EXPECT_FALSE(tape.gives_tuple(".mlp.subrouter.weight"));
  EXPECT_FALSE(tape.gives_tuple(".mlp.router.bias"));
}

TEST(OpTape, BindsWhatHasAName) {
  EXPECT_EQ(refusal("vramfit tape 1\nprogram init\nmain\nbind %0 4\nend\nend"),
            "tape: line 4: 'bind' lacks what it is of");
}

TEST(OpTape, WhatIsMovedToADeviceKeepsItsType) {
  const OpTape tape = read_op_tape(
      "vramfit tape 1\nprogram train\nmain\n%1 = to.dtype_layout %0 T\n%2 = to.dtype %0 T\nend\n"
      "end\n");
  const std::vector<Instruction>& steps = tape.program("train")->main.steps;
  EXPECT_EQ(steps.at(0).args.size(), 1U);
  EXPECT_EQ(steps.at(1).args.size(), 2U);
}

TEST(OpTape, PartsAreToldByOthers) {
  const std::string text =
      "vramfit tape 1\nprogram train\nlayer A\n$0 = neg ^0\n$1 = exp $0\nfree $0\ngive $1\nend\n"
      "main\n%1 = layers %0\nreturn %1\nend\nend\n"
      "program train eager\nlayer A from A train\nsame 1\nskip 1\n$1 = neg $0\nsame 2\nend\n"
      "main from main train\n";
  EXPECT_EQ(refusal(text), "tape: line 21: no part 'main main train' came before");
  const OpTape tape =
      read_op_tape(text.substr(0, text.rfind("main from")) + "main as train\nend\n");
  const std::vector<Instruction>& steps = tape.program("train eager")->layers.at("A").steps;
  ASSERT_EQ(steps.size(), 4U);
  EXPECT_EQ(steps[0].name + " " + steps[1].name + " " + steps[3].name, "neg neg give");
}

TEST(OpTape, PartsAreToldByNoMoreThanOthersHave) {
  const std::string text =
      "vramfit tape 1\nprogram train\nmain\n%1 = neg %0\nreturn %1\nend\nend\n";
  const std::string as = "program decode\nmain as train\nend\nprogram prefill\nmain from decode\n";
  EXPECT_EQ(refusal(text + as + "same 3\nend\nend"),
            "tape: line 13: what it is from has no 3 lines more");
  EXPECT_EQ(refusal(text + as + "skip x\nend\nend"), "tape: line 13: 'x' is no whole number");
  EXPECT_EQ(refusal(text + as + "same 1\n%2 = neg %y\nend\nend"),
            "tape: line 14: '%y' is no register");
  EXPECT_EQ(refusal(text + "program prefill\nmain by train\n"),
            "tape: line 9: 'by' is no way to say a part");
}

TEST(OpTape, AGradientGivesOneOfEachThatIsGiven) {
  const std::string head = "vramfit tape 1\nprogram train\nmain\n%1 = neg %0\n";
  const std::string rest = "return %1\nend\nend\n";
  EXPECT_EQ(refusal(head + "gradient %1 %2 [%0] [%0]\n%3 = mul.Tensor %2 %0\ngives %3\n" + rest),
            "none");
  EXPECT_EQ(refusal(head + "gradient %1 %2 [%0] [%0]\n%3 = neg %2\ngives\n" + rest),
            "tape: line 7: 'gives' has one of each that is given");
  EXPECT_EQ(refusal(head + "gradient %1 %2\ngives %2\n" + rest),
            "tape: line 5: 'gradient' lacks what it is of");
}

TEST(OpTape, ListsAreInFewLists) {
  const std::string head = "vramfit tape 1\nprogram train\nmain\n%0 = zeros ";
  const std::string shown = "tape: line 4: '" + std::string(37, '[') + "…' is no list";
  const std::string nested = std::string(100'000, '[') + "1" + std::string(100'000, ']');
  EXPECT_EQ(refusal(head + nested + "\nend\nend").substr(0, shown.size()), shown);
  EXPECT_EQ(refusal(head + "[1\nend\nend"), "tape: line 4: '[1' is no list that a tape can have");
}

TEST(OpTape, PartsHaveOnlySoMuchOfOthers) {
  std::string main = "vramfit tape 1\nprogram train\nmain\n";
  for (int i = 0; i < 20'000; ++i) main += "neg %0\n";
  main += "return %0\nend\nend\n";
  const std::string wide = "vramfit tape 1\nprogram train\nmain\n%0 = zeros @" +
                           std::string(1'000'000, 'a') + "\nreturn %0\nend\nend\n";
  std::string from, as, one;
  for (int i = 0; i < 9; ++i) {
    const std::string head = "program prefill " + std::to_string(i) + "\n";
    from += head + "main from train\nsame 20000\nreturn %0\nend\nend\n";
    as += head + "main as train\nend\n";
    one += head + "main from train\nsame 1\nreturn %0\nend\nend\n";
  }
  const std::string why = ": a tape whose parts have too much of others";
  EXPECT_EQ(refusal(main + from), "tape: line 20057" + why);
  EXPECT_EQ(refusal(main + as), "tape: line 20032" + why);
  EXPECT_EQ(refusal(wide + one), "tape: line 34" + why);
}

TEST(OpTape, ALineOfAnotherPartIsNamedWithThePartThatHasIt) {
  EXPECT_EQ(
      refusal("vramfit tape 1\nprogram train\nmain\nloop 1 1 1\n%1 = neg %0\nagain\nend\nend\n"
              "program prefill\nmain from train\nsame 2\nend\nend"),
      "tape: line 5: ends early, in part 'main prefill'");
}

TEST(OpTape, SaysWhatItIsOf) {
  const std::string head = "vramfit tape 1\n";
  for (const char* kinds : {"", " below", " every layers A", " by", " by layer_types"}) {
    EXPECT_EQ(refusal(head + "kinds" + kinds), "tape: line 2: ends early") << kinds;
  }
  const std::string init = "program init\nlayer A\ngive ^0\nend\nmain\n%0 = zeros [1]\nend\nend\n";
  EXPECT_EQ(refusal(head + init + "program train\nlayer B as init\n"),
            "tape: line 11: no part 'B init' came before");
  EXPECT_EQ(refusal(head + "program train\nmain\nfree !keys\nend\nend"),
            "tape: line 4: 'keys' is nothing that a layer keeps");
  EXPECT_EQ(refusal(head + "program train\nmain\n%0 = neg @lost\nend\nend"),
            "tape: 'lost' is no parameter or buffer");
  EXPECT_EQ(refusal(head + "parameters\nlayer A\nparameter .a tied b\nend\nend\n"),
            "tape: line 6: a layer's weight that is tied to another");
}

}  // namespace
}  // namespace vramfit::pytorch
