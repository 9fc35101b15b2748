#include "runtimes/article/runtime.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "model/errors.h"
#include "model/transformer/sizes.h"
#include "runtimes/notes.h"
#include "runtimes/parallel_flags.h"
#include "runtimes/sum_allocator.h"

namespace vramfit::article {
namespace {

using Json = nlohmann::ordered_json;

class ArticleWorkload final : public Workload {
 public:
  explicit ArticleWorkload(Question question) : question_(std::move(question)) {}
  /// Its estimate for several GPUs, of what each holds.
  ArticleWorkload(Question question, std::int64_t gpus, std::string strategy)
      : question_(std::move(question)), gpus_(gpus), strategy_(std::move(strategy)) {}

  const Runtime& runtime() const override { return article_runtime(); }
  bool training() const override { return question_.training; }
  bool has_sizes() const override { return gpus_ == 0; }
  std::int64_t positions() const override { return question_.seq; }
  std::int64_t size(const SearchAxis& axis) const override {
    return axis == kBatchAxis ? question_.batch : question_.seq;
  }
  std::shared_ptr<const Workload> resized(const SearchAxis& axis,
                                          std::int64_t size) const override {
    Question question = question_;
    (axis == kBatchAxis ? question.batch : question.seq) = size;
    return std::make_shared<ArticleWorkload>(std::move(question), gpus_, strategy_);
  }
  std::int64_t limit(const SearchAxis& axis, const ModelConfig&) const override {
    return axis == kBatchAxis ? kMaxBatch : kMaxSeq;
  }

  void validate(const ModelConfig& config) const override {
    require_sizes(question_.batch, question_.seq);
    if (total(config) > static_cast<double>(kUnlimitedBytes)) {
      throw BadInput("sizes: more than 2^60 bytes are needed; a smaller batch, seq or model");
    }
  }

  Outcome run(const Gpu&, std::uint64_t capacity, const ModelConfig& config,
              const Extent& extent) const override {
    const Answer answer = gpus_ == 0 ? will_it_fit(about(config)) : share_of(config);
    Outcome outcome;
    outcome.report = report_on_sum(capacity, extent, [&](Ledger& ledger) {
      const auto take = [&](Stage stage, int step, const Name& name, Category category,
                            double bytes) {
        const StageScope scope(ledger, stage, step);
        ledger.allocate(name, category, static_cast<std::uint64_t>(std::llround(bytes)));
      };
      take(Stage::Loaded, 0, "parameters", Category::Parameters, answer.parameters);
      if (!question_.training) {
        return take(Stage::Prefill, 1, "kv cache", Category::KvCache, answer.kv_cache);
      }
      take(Stage::Forward, 1, "activations", Category::Activations, answer.activations);
      take(Stage::Backward, 1, "gradients", Category::Gradients, answer.gradients);
      take(Stage::Optimizer, 1, "optimizer states", Category::OptimizerState, answer.optimizer);
    });
    for (StageRecord& stage : outcome.report.stages) stage.device_used = stage.reserved;
    outcome.overhead.source = "none: the article adds 10 to 20 % in words alone";
    return outcome;
  }

  Json asked() const override {
    Json json = {{"mode", question_.training ? "training" : "inference"},
                 {"precision", question_.precision},
                 {"batch", question_.batch},
                 {"seq", question_.seq}};
    if (question_.training) json["optimizer"] = question_.optimizer;
    if (gpus_ > 0) json.update({{"gpus", gpus_}, {"strategy", strategy_}});
    return json;
  }

  std::string text(const std::string& sizes) const override {
    if (!question_.training) return "inference in " + question_.precision + ", " + sizes;
    const std::string text = "training in " + question_.precision + " with " + question_.optimizer;
    if (gpus_ == 0) return text + ", " + sizes;
    return text + ", each of " + std::to_string(gpus_) + " GPUs under " + strategy_;
  }

  std::string types() const override { return "parameters in " + question_.precision; }
  std::string about() const override {
    return "the article's formulas, as they stand: to be held against, not to rely on. --runtime "
           "pytorch is what PyTorch takes.";
  }

 private:
  Question about(const ModelConfig& config) const {
    Question question = question_about(config, question_.precision, question_.batch, question_.seq);
    question.training = question_.training;
    question.optimizer = question_.optimizer;
    return question;
  }
  double total(const ModelConfig& config) const {
    return gpus_ == 0 ? will_it_fit(about(config)).total() : share_of(config).total();
  }

  /// Of its 16 B/param: 2 for weights, 2 for gradients, 12 for Adam's states.
  Answer share_of(const ModelConfig& config) const {
    const double all = estimate_multi_gpu_memory(about(config).params_billion, gpus_, strategy_);
    Answer answer{};
    answer.parameters = answer.gradients = all / 8;
    answer.optimizer = all - 2 * answer.parameters;
    return answer;
  }

  Question question_;      ///< without the model's sizes, which about() adds
  std::int64_t gpus_ = 0;  ///< 0: will_it_fit is asked, which knows one
  std::string strategy_;
};

/// What its estimate for several is of, as it is where neither is said.
constexpr Needs kFp16WithAdam = {"--precision fp16 and --optimizer adam", [](const Flags& flags) {
                                   return typed(flags, "precision").value_or("fp16") == "fp16" &&
                                          typed(flags, "optimizer").value_or("adam") == "adam";
                                 }};

class ArticleRuntime final : public Runtime {
 public:
  const char* name() const override { return "article"; }

  const Settings& settings() const override {
    using enum Setting::With;
    using enum Setting::Takes;
    static const Settings rows = {
        {.name = "precision",
         .help = "fp32, fp16 (default), bf16, int8 or int4",
         .offers = {{"", "fp16, the article’s"},
                    {"bf16", "bf16"},
                    {"fp16", "fp16"},
                    {"fp32", "fp32"},
                    {"int8", "int8"},
                    {"int4", "int4"}}},
        {"batch", Either, "", Number},
        {"seq", Either, "", Number},
        {.name = "optimizer",
         .with = Training,
         .help = "adam (default) or sgd",
         .offers = {{"", "Adam"}, {"sgd", "SGD"}}},
        {.name = "gpus",
         .with = Training,
         .help = "its estimate for so many GPUs, of each",
         .takes = Number,
         .needs = &kFp16WithAdam},
        {.name = "strategy",
         .with = Training,
         .help = "how --gpus share: data-parallel (default), pipeline or fsdp",
         .needs = &kGpus,
         .offers = {{"", "data parallel"}, {"pipeline", "pipeline"}, {"fsdp", "FSDP / ZeRO-3"}}},
    };
    return rows;
  }

  const Capabilities& can() const override {
    static const Capabilities can = {
        .no_timelines = "formulas allocate nothing; without --runtime article",
        .no_advice = "formulas are not to be relied on; without --runtime article",
        .no_formulas = "--runtime article is one of them; without either",
        .as_stored = false,
        .quantized_precisions = true,
    };
    return can;
  }

  const std::vector<SearchAxis>& axes() const override { return batch_and_seq(); }

 private:
  std::shared_ptr<const Workload> read(const Flags& flags, bool training,
                                       const ModelConfig& model) const override {
    Question question;
    question.training = training;
    question.precision = typed(flags, "precision").value_or(question.precision);
    question.optimizer = typed(flags, "optimizer").value_or(question.optimizer);
    question.batch = whole(flags, "batch", question.batch);
    question.seq = whole(flags, "seq", question.seq);
    const auto workload = workload_of(flags, std::move(question));
    workload->validate(model);  // its precision and optimizer are known by name alone
    return workload;
  }

  static std::shared_ptr<const Workload> workload_of(const Flags& flags, Question question) {
    auto several = several_gpus(flags);
    if (!several) return std::make_shared<ArticleWorkload>(std::move(question));
    if (has(flags, "batch") || has(flags, "seq")) {
      throw BadInput(
          "gpus: the article's estimate for several knows no batch and no seq; without them");
    }
    return std::make_shared<ArticleWorkload>(
        std::move(question), several->gpus, std::move(several->strategy).value_or("data-parallel"));
  }
};

}  // namespace

const Runtime& article_runtime() {
  static const ArticleRuntime runtime;
  return runtime;
}

}  // namespace vramfit::article
