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

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kSlotBytes = 300'000'000;
constexpr std::uint64_t kFilled = 9;  ///< tenths of what the card has left, which a server fills

const Runtime& server();

/// A server that holds so many requests at once, and fills its share of the card.
class Serving final : public Workload {
 public:
  explicit Serving(std::int64_t slots) : slots_(slots) {}

  const Runtime& runtime() const override { return server(); }
  bool training() const override { return false; }
  Facts facts() const override { return {.weights = DType::Bf16, .batch = slots_}; }
  DType computes_in() const override { return DType::Bf16; }
  std::int64_t positions() const override { return 1; }
  std::int64_t stored_parameters(const ModelConfig& c) const override { return parameter_count(c); }
  std::int64_t size(const SearchAxis&) const override { return slots_; }
  std::shared_ptr<const Workload> resized(const SearchAxis&, std::int64_t slots) const override {
    return std::make_shared<Serving>(slots);
  }
  std::int64_t limit(const SearchAxis&, const ModelConfig&) const override { return 1000; }
  void validate(const ModelConfig&) const override {}
  Demand demand() const override { return Demand::Elastic; }
  Outcome run(const Gpu& gpu, std::uint64_t capacity, const ModelConfig& config,
              const Extent& extent) const override {
    SumAllocator sum(capacity + extent.extra_capacity);
    Ledger ledger(sum, Counts::Requested, extent.detail.events);
    Outcome outcome;
    outcome.overhead = gpu.overhead;
    outcome.overhead.context = (*gpu.overhead.of("server", "1.0"))["context"];
    outcome.report = report_on(ledger, [&] {
      const StageScope scope(ledger, Stage::Loaded, 0);
      ledger.allocate("weights", Category::Parameters,
                      2 * static_cast<std::uint64_t>(parameter_count(config)));
      const std::uint64_t share = capacity / 10 * kFilled;
      const std::uint64_t left = share - std::min(share, sum.reserved());
      const std::uint64_t least = kSlotBytes * static_cast<std::uint64_t>(slots_);
      ledger.allocate("cache", Category::KvCache, std::max(left, least));
    });
    return outcome;
  }
  Json asked() const override { return {{"mode", "inference"}, {"slots", slots_}}; }
  std::string text(const std::string& sizes) const override { return "serving " + sizes; }
  std::string types() const override { return "weights and cache in bf16"; }
  std::string about() const override { return "a server of tests."; }
  std::optional<double> reserved_error() const override { return 0.0; }

 private:
  std::int64_t slots_;
};

class Server final : public Runtime {
 public:
  const char* name() const override { return "server"; }
  const Settings& settings() const override {
    static const Settings rows = {
        {.name = "slots", .takes = Setting::Takes::Number, .spellings = {{"max-num-seqs"}}}};
    return rows;
  }
  bool runs(const FamilyReader&) const override { return true; }
  const Capabilities& can() const override {
    static const Capabilities can = {.no_formulas = "nobody has one of a server",
                                     .assumed = {"slots", "optimizer"}};
    return can;
  }
  const std::vector<SearchAxis>& axes() const override {
    static const std::vector<SearchAxis> axes = {{.name = "slots",
                                                  .noun = "number of slots",
                                                  .largest = "as many slots as fit",
                                                  .help = "The most slots that fit",
                                                  .after = " slots"}};
    return axes;
  }
  Json release() const override { return {{"server", "1.0"}}; }

 private:
  std::shared_ptr<const Workload> read(const Flags& flags, bool,
                                       const ModelConfig&) const override {
    return std::make_shared<Serving>(whole(flags, "slots", 4));
  }
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
  const std::vector<RuntimeOverhead> measured = {{"server", "1.0", {{"context", 1'000'000'000}}}};
  for (Request& request : question.requests) {
    request.budget.overhead.runtimes =
        std::make_shared<const std::vector<RuntimeOverhead>>(measured);
  }
  return question;
}

Json told(const Question& question) { return Json::parse(json_text(question, answer(question))); }

TEST(SmallRuntime, FillsItsShareAndSaysSo) {
  const Json json = told(asks({}));
  EXPECT_EQ(json.at("runtime"), "server");
  EXPECT_EQ(json.at("release").at("server"), "1.0");
  EXPECT_EQ(json.at("verdict"), "FITS");
  EXPECT_EQ(json.at("overhead_parts").at("context"), 1'000'000'000);
  EXPECT_EQ(json.at("asked").at("slots"), 4);
  EXPECT_EQ(json.at("asked").at("assumed"), Json::array({"slots"})) << "it has no optimizer";
  EXPECT_EQ(json.at("asked").at("runs_with"), "weights and cache in bf16; 4 slots by default");
  const std::uint64_t share = json.at("capacity").get<std::uint64_t>() / 10 * kFilled;
  EXPECT_EQ(json.at("levels").at("reserved"), share) << "whatever it is asked";
}

TEST(SmallRuntime, FindsTheMostSlotsThatFit) {
  const Question question = asks({}, {"slots"});
  const Json json = told(question);
  const std::uint64_t weights = json.at("components").at("parameters");
  const std::uint64_t room = json.at("capacity").get<std::uint64_t>() - weights;
  EXPECT_EQ(json.at("max_slots"), room / kSlotBytes);
  EXPECT_EQ(json.at("asked").at("slots"), nullptr);
  const std::vector<Answer> answers = answer(question);
  EXPECT_EQ(workload_text(answers.front().request, question.search),
            "serving as many slots as fit");
  EXPECT_NE(fit::search_text(answers.front(), *question.search).find("largest number of slots"),
            std::string::npos);
}

TEST(SmallRuntime, DoesNotFitWhereItsLeastDoesNot) {
  const Json json = told(asks({{"slots", "900"}}));
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
