// What a runtime has to say of itself so that a question about it is answered: this, and a row each
// in estimator/runtimes.cpp and runtimes/CMakeLists.txt.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "estimator/ask/answer_json.h"
#include "estimator/ask/spellings.h"
#include "estimator/ask/titles.h"
#include "estimator/fit/search_text.h"
#include "model/transformer/parameters.h"
#include "runtimes/sum_allocator.h"
#include "tests/support/expect_bad_input.h"

namespace vramfit {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::int64_t kSlotBytes = 300'000'000;
constexpr std::uint64_t kFilled = 9;  ///< tenths of what the card has left, which a server fills

std::uint64_t bytes(std::int64_t count) { return static_cast<std::uint64_t>(count); }

/// A server that holds so many requests at once, and fills its share of the card.
struct Serving final : Workload {
  Serving(const Runtime& server, std::int64_t count) : of(server), slots(count) {}
  const Runtime& runtime() const override { return of; }
  std::int64_t size(const SearchAxis&) const override { return slots; }
  std::shared_ptr<const Workload> resized(const SearchAxis&, std::int64_t count) const override {
    return std::make_shared<Serving>(of, count);
  }
  Demand demand() const override { return Demand::Elastic; }
  Outcome run(const Gpu& gpu, std::uint64_t capacity, const ModelConfig& model,
              const Extent& extent) const override {
    Outcome outcome;
    outcome.overhead = gpu.overhead;
    outcome.overhead.context = (*gpu.overhead.of("server"))["context"];
    outcome.report = report_on_sum(capacity, extent, [&](Ledger& ledger) {
      const std::int64_t weights = 2 * parameter_count(model);
      const auto left = static_cast<std::int64_t>(capacity / 10 * kFilled) - weights;
      ledger.allocate("weights", Category::Parameters, bytes(weights));
      ledger.allocate("cache", Category::KvCache, bytes(std::max(left, kSlotBytes * slots)));
    });
    return outcome;
  }
  std::string types() const override { return "weights and cache in bf16"; }
  std::string about() const override { return "a server of tests."; }
  const Runtime& of;
  const std::int64_t slots;
};

struct Server final : Runtime {
  const char* name() const override { return "server"; }
  const Settings& settings() const override { return rows; }
  const Capabilities& can() const override { return capabilities; }
  const std::vector<SearchAxis>& axes() const override { return sizes; }
  std::shared_ptr<const Workload> read(const Flags& flags, bool,
                                       const ModelConfig&) const override {
    return std::make_shared<Serving>(*this, whole(flags, "slots", 4));
  }
  const Settings rows = {
      {.name = "slots", .takes = Setting::Takes::Number, .spellings = {{"max-num-seqs"}}}};
  const Capabilities capabilities = {.no_formulas = "nobody has one",
                                     .assumed = {"slots", "optimizer"}};
  const std::vector<SearchAxis> sizes = {
      {.name = "slots", .noun = "slots", .largest = "the most slots", .after = " slots"}};
};

const Runtime& server() {
  static const Server runtime;
  return runtime;
}

/// About a small model on a card of 24 GiB, of which the server's context takes 1 GB.
Question asks(const Flags& flags, const std::vector<std::string>& searches = {}) {
  FitOptions options;
  options.model = "tinyllama-1.1b";
  options.vram = "24GiB";
  options.flags = flags;
  options.searches = searches;
  Question question = resolve_question(options, {}, server());
  const std::vector<RuntimeOverhead> measured = {{"server", "", {{"context", 1'000'000'000}}}};
  for (Request& request : question.requests) {
    request.budget.overhead.runtimes =
        std::make_shared<const std::vector<RuntimeOverhead>>(measured);
  }
  return question;
}

OrderedJson told(const Question& question) {
  return OrderedJson::parse(json_text(question, answer(question)));
}

TEST(SmallRuntime, FillsItsShareAndSaysSo) {
  const OrderedJson json = told(asks({}));
  EXPECT_EQ(json.at("runtime"), "server");
  EXPECT_EQ(json.at("release"), nullptr);
  EXPECT_EQ(json.at("verdict"), "FITS");
  EXPECT_EQ(json.at("overhead_parts").at("context"), 1'000'000'000);
  EXPECT_EQ(json.at("asked").at("slots"), 4);
  EXPECT_EQ(json.at("asked").at("assumed"), OrderedJson::array({"slots"})) << "it has no optimizer";
  EXPECT_EQ(json.at("asked").at("runs_with"), "weights and cache in bf16; 4 slots by default");
  const std::uint64_t share = json.at("capacity").get<std::uint64_t>() / 10 * kFilled;
  EXPECT_EQ(json.at("levels").at("reserved"), share) << "whatever it is asked";
}

TEST(SmallRuntime, FindsTheMostSlotsThatFit) {
  const Question question = asks({}, {"slots"});
  const OrderedJson json = told(question);
  const std::uint64_t weights = json.at("components").at("parameters");
  const std::uint64_t room = json.at("capacity").get<std::uint64_t>() - weights;
  EXPECT_EQ(json.at("max_slots"), room / bytes(kSlotBytes));
  EXPECT_EQ(json.at("asked").at("slots"), nullptr);
  const std::vector<Answer> answers = answer(question);
  EXPECT_EQ(workload_text(answers.front().request, question.search),
            "server, weights and cache in bf16, the most slots");
  EXPECT_NE(fit::search_text(answers.front(), *question.search).find("largest slots"),
            std::string::npos);
}

TEST(SmallRuntime, DoesNotFitWhereItsLeastDoesNot) {
  const OrderedJson json = told(asks({{"slots", "900"}}));
  EXPECT_EQ(json.at("verdict"), "OOM");
  EXPECT_EQ(json.at("out_of_memory").at("tensor"), "cache");
  EXPECT_LT(json.at("margin"), 0) << "what it would need is told";
}

TEST(SmallRuntime, IsAskedWhatItCanAnswerInItsOwnWords) {
  EXPECT_EQ(in_canonical_names({"--max_num_seqs=8"}, server()).arguments,
            std::vector<std::string>{"--slots=8"});
  expect_bad_input([] { asks({}, {"batch"}); },
                   {"max-batch: not under --runtime server; --max-slots"});
  FitOptions options;
  options.model = "tinyllama-1.1b";
  options.formulas = true;
  expect_bad_input([&] { resolve_question(options, {}, server()); }, {"formulas: nobody has one"});
}

}  // namespace
}  // namespace vramfit
