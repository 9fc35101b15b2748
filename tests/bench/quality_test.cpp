#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "bench/quality/course.h"
#include "bench/quality/log.h"
#include "bench/quality/perplexity.h"
#include "bench/quality/tensor_file.h"
#include "model/errors.h"
#include "model/ops/random.h"

namespace vramfit::bench {
namespace {

namespace fs = std::filesystem;

constexpr int kVocab = 64;

ModelConfig small_model() {
  ModelConfig config;
  config.name = "small-llama";
  config.family = "llama";
  config.layers = 1;
  config.hidden = config.ffn = 128;
  config.head_dim = 64;
  config.heads = config.kv_heads = 2;
  config.vocab = kVocab;
  config.max_positions = 32;
  config.norm_eps = 1e-5F;
  config.rope = Rope{};
  return config;
}

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

/// The losses that a log says, with the steps that they are of.
std::vector<std::pair<int, double>> losses(const fs::path& log, const char* which) {
  std::vector<std::pair<int, double>> found;
  std::ifstream file(log);
  for (std::string line; std::getline(file, line);) {
    const auto said = nlohmann::json::parse(line);
    if (said.contains(which)) found.emplace_back(said["step"], said[which]);
  }
  return found;
}

class QualityTest : public testing::Test {
 protected:
  QualityTest() : device(open_real_device("cpu", {})) {
    folder = fs::path(testing::TempDir()) /
             testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder);
    fs::create_directories(folder);
    course.config = small_model();
    course.options.optimizer = optimizer_named("adamw-master");
    course.options.settings.learning_rate = 1e-2F;
    course.options.batch = 4;
    course.options.seq = 8;
    course.steps = 12;
    course.warm_up = 3;
    course.evaluate_every = 5;
    course.evaluate_on = 2;
    files = {write("text", 1000, 1), write("held_out", 200, 2), {}, {}, folder / "log"};
  }

  /// A text in which each token mostly says the next.
  fs::path write(const char* name, int tokens, std::uint64_t seed) {
    std::vector<std::uint16_t> text = {1};
    for (std::uint64_t i = 1; i < static_cast<std::uint64_t>(tokens); ++i) {
      const bool follows = random_bits(seed, i) % 8 != 0;
      const int drawn = random_token(seed + 100, i, kVocab);
      text.push_back(static_cast<std::uint16_t>(follows ? (text.back() * 5 + 3) % kVocab : drawn));
    }
    std::ofstream(folder / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(text.data()), tokens * 2);
    return folder / name;
  }

  void go(int to_step, double seconds = 1e9) {
    run_course(*device, course, files, {to_step, seconds});
  }

  double perplexity_of(const char* precision, std::optional<DType> cache = {}) {
    GenerationOptions options;
    options.precision = parse_model_precision(precision);
    options.cache = cache;
    options.batch = 4;
    options.seq = 5;
    options.generate = 12;
    const Surprise found = surprise(*device, course.config, options, weights_in(*files.checkpoint),
                                    Text(files.held_out, kVocab), 8);
    EXPECT_EQ(found.tokens, 8 * 12);
    return std::exp(found.loss);
  }

  std::unique_ptr<RealDevice> device;
  fs::path folder;
  Course course;
  CourseFiles files;
};

TEST_F(QualityTest, ACourseThatStoppedAndWentOnIsOneThatDidNot) {
  files.checkpoint = folder / "whole";
  go(course.steps);
  files.checkpoint = folder / "parts";
  files.log = folder / "log of parts";
  for (const int step : {0, 1, 7, course.steps}) go(step);
  EXPECT_EQ(text_of(folder / "whole"), text_of(folder / "parts"));
  for (const char* which : {"loss", "held_out_loss", "learning_rate"}) {
    EXPECT_EQ(losses(folder / "log", which), losses(folder / "log of parts", which)) << which;
  }
  EXPECT_EQ(losses(folder / "log", "loss").size(), 12U);
}

TEST_F(QualityTest, WhatWasSaidBehindTheCheckpointIsSaidAgain) {
  files.checkpoint = folder / "kept";
  go(4);
  fs::copy(folder / "kept", folder / "earlier");
  go(8);
  fs::rename(folder / "earlier", folder / "kept");
  go(6);
  const auto said = losses(folder / "log", "loss");
  ASSERT_EQ(said.size(), 6U);
  for (int step = 1; step <= 6; ++step) {
    EXPECT_EQ(said[static_cast<std::size_t>(step - 1)].first, step);
  }
}

TEST_F(QualityTest, AStretchEndsWithItsTime) {
  files.checkpoint = folder / "kept";
  go(course.steps, 0);
  EXPECT_EQ(TensorFile(*files.checkpoint).fact("steps"), "0");
}

TEST_F(QualityTest, LearnsAndIsLessSurprised) {
  course.steps = 60;
  go(course.steps);
  const auto held_out = losses(files.log, "held_out_loss");
  EXPECT_EQ(held_out.front().first, 0);
  EXPECT_EQ(held_out.back().first, course.steps);
  EXPECT_NEAR(held_out.front().second, std::log(kVocab), 0.1);
  EXPECT_LT(held_out.back().second, 0.75 * held_out.front().second);
}

// The loss that the training pass has of held-out windows is the one that generation has.
TEST_F(QualityTest, GenerationIsAsSurprisedAsTheTrainer) {
  files.checkpoint = folder / "kept";
  go(course.steps);
  const auto whole = [&](std::int64_t seq) {
    GenerationOptions options;
    options.precision = DType::Fp32;
    options.batch = 2;
    options.seq = 1;
    options.generate = seq;
    return surprise(*device, course.config, options, weights_in(*files.checkpoint),
                    Text(files.held_out, kVocab), 8);
  };
  course.options.precision = DType::Fp32;
  course.options.optimizer = optimizer_named("adamw");
  course.steps = 1;
  course.evaluate_on = 2;
  files.start = *files.checkpoint;
  files.checkpoint.reset();
  fs::resize_file(files.held_out, (8 * 8 + 1) * 2);  // eight windows, which both read whole
  files.log = folder / "log of the trainer";
  go(0);
  files.checkpoint = files.start;
  EXPECT_NEAR(whole(8).loss, losses(files.log, "held_out_loss").front().second, 1e-5);
}

TEST_F(QualityTest, FewerBitsAndCachesAreNear) {
  course.steps = 60;
  files.checkpoint = folder / "kept";
  go(course.steps);
  const double exact = perplexity_of("fp32");
  EXPECT_LT(exact, 0.6 * kVocab);
  for (const char* precision : {"fp16", "bf16", "fp8", "int8", "int8-wo", "nf4", "int4"}) {
    const double found = perplexity_of(precision);
    EXPECT_NEAR(found, exact, 0.2 * exact) << precision;
    EXPECT_NE(found, exact) << precision;
  }
  for (const DType cache : {DType::Fp8, DType::Int8}) {
    EXPECT_NEAR(perplexity_of("bf16", cache), perplexity_of("bf16"), 0.05 * exact) << name(cache);
    EXPECT_NE(perplexity_of("bf16", cache), perplexity_of("bf16")) << name(cache);
  }
}

TEST_F(QualityTest, AdaptersLearnBesideFrozenWeights) {
  files.checkpoint = folder / "kept";
  go(course.steps);
  files.start = *files.checkpoint;
  files.checkpoint.reset();
  for (const char* precision : {"bf16", "nf4", "int8"}) {
    course.options.precision = parse_model_precision(precision);
    course.options.lora = LoraOptions{4, 4, lora_targets(course.config)};
    course.steps = 30;
    go(course.steps);
    const auto held_out = losses(files.log, "held_out_loss");
    EXPECT_LT(held_out.back().second, held_out.front().second) << precision;
  }
}

TEST_F(QualityTest, TheRateRisesAndFallsToATenth) {
  course.steps = 103;
  EXPECT_FLOAT_EQ(learning_rate(course, 1), 1e-2F / 3);
  EXPECT_FLOAT_EQ(learning_rate(course, 3), 1e-2F);
  EXPECT_FLOAT_EQ(learning_rate(course, 53), 0.55e-2F);
  EXPECT_FLOAT_EQ(learning_rate(course, 103), 1e-3F);
}

TEST_F(QualityTest, EveryWindowIsReadOnceAnEpoch) {
  ReadingOrder order(37, 1);
  std::vector<std::int64_t> first;
  std::vector<std::int64_t> second;
  for (int n = 0; n < 37; ++n) first.push_back(order(n));
  for (int n = 37; n < 74; ++n) second.push_back(order(n));
  EXPECT_NE(first, second);
  EXPECT_NE(ReadingOrder(37, 2)(0) * 37 + ReadingOrder(37, 2)(1), first[0] * 37 + first[1]);
  for (auto* epoch : {&first, &second}) {
    std::sort(epoch->begin(), epoch->end());
    for (int n = 0; n < 37; ++n) EXPECT_EQ((*epoch)[static_cast<std::size_t>(n)], n);
  }
}

TEST_F(QualityTest, WrongFilesAreRefused) {
  const Text text(files.held_out, kVocab);
  EXPECT_EQ(text.windows(8), 24);
  EXPECT_THROW(text.windows(200), BadInput);
  EXPECT_THROW(Text(files.held_out, 32), BadInput);
  EXPECT_THROW(Text(folder / "none", kVocab), BadInput);
  EXPECT_THROW(TensorFile(files.text), BadInput);
  EXPECT_THROW(TensorFile(folder / "none"), BadInput);
  files.checkpoint = folder / "kept";
  go(2);
  course.config.ffn = 256;
  EXPECT_THROW(go(3), BadInput);
  std::ofstream(files.log) << "no JSON\n";
  EXPECT_THROW(StepLog(files.log, 1), BadInput);
}

}  // namespace
}  // namespace vramfit::bench
