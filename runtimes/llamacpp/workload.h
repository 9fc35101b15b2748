#pragma once

#include <memory>

#include "runtimes/llamacpp/base/account.h"
#include "runtimes/llamacpp/base/model.h"
#include "runtimes/llamacpp/breakdown.h"
#include "runtimes/llamacpp/options.h"
#include "runtimes/llamacpp/server_card.h"
#include "runtimes/llamacpp/weights/quantizations.h"
#include "runtimes/runtime.h"

namespace vramfit::llamacpp {

/// Positions of the context.
inline constexpr SearchAxis kContextAxis = {.name = "ctx",
                                            .noun = "context",
                                            .largest = "the longest context",
                                            .help =
                                                "llama.cpp: the longest context that fits, up "
                                                "to what the model was trained on",
                                            .before = "context ",
                                            .of_positions = true,
                                            .step = 256};
inline constexpr SearchAxis kSlotsAxis = {.name = "parallel",
                                          .noun = "number of slots",
                                          .largest = "as many slots as fit",
                                          .help = "llama.cpp: the most slots that fit",
                                          .before = "slots ",
                                          .step = 1};
inline constexpr SearchAxis kLayersAxis = {.name = "gpu-layers",
                                           .noun = "number of layers on the GPU",
                                           .largest = "as many layers on the GPU as fit",
                                           .help =
                                               "llama.cpp: the most layers that fit, the "
                                               "output one of them",
                                           .before = "GPU layers ",
                                           .step = 1};

/// Quantisations of a config's model.
inline constexpr SearchAxis kQuantAxis = {.name = "quant",
                                          .noun = "quantisation",
                                          .largest = "the largest quantisation",
                                          .help =
                                              "llama.cpp: the largest quantisation that fits, of "
                                              "those that need no importance matrix",
                                          .step = 1,
                                          .of_names = true};

/// A server with a model, a context and what its first requests make it take.
class ServerWorkload final : public Workload {
 public:
  /// `quantizations`: of a config's model; null: a file's tensors have their types. `draft`: of the
  /// model whose drafts it checks; null: there is none.
  ServerWorkload(std::shared_ptr<const Model> model, Options options,
                 std::shared_ptr<const Quantizations> quantizations = nullptr,
                 std::shared_ptr<const Model> draft = nullptr)
      : model_(std::move(model)),
        options_(std::move(options)),
        quantizations_(std::move(quantizations)),
        draft_(std::move(draft)),
        breakdowns_(std::make_shared<Breakdowns>()) {}

  const Runtime& runtime() const override;
  nlohmann::ordered_json release() const override;
  Facts facts() const override;
  std::int64_t positions() const override;
  std::int64_t parameters(const ModelConfig& config) const override;
  std::int64_t size(const SearchAxis& axis) const override;
  std::shared_ptr<const Workload> resized(const SearchAxis& axis, std::int64_t size) const override;
  std::int64_t limit(const SearchAxis& axis, const ModelConfig& config) const override;
  std::int64_t sequences_of(const SearchAxis& axis) const override;
  std::string name_of(const SearchAxis& axis, std::int64_t size) const override;
  void validate(const ModelConfig& config) const override;
  Demand demand() const override { return options_.fits_itself ? Demand::Elastic : Demand::Fixed; }
  Outcome run(const Gpu& gpu, std::uint64_t capacity, const ModelConfig& config,
              const Extent& extent) const override;
  std::optional<OwnChoice> own_choice(const Gpu& gpu, std::uint64_t capacity) const override;
  std::vector<Adjustment> adjustments(const ModelConfig& config) const override;
  std::vector<std::string> cautions() const override;
  nlohmann::ordered_json asked() const override;
  std::string text(const std::string& sizes) const override;
  std::string types() const override;
  std::string about() const override;
  std::optional<double> reserved_error() const override;

 private:
  /// A start on its GPUs, as it was asked for or as --fit chooses.
  struct Start {
    std::vector<Card> cards;
    Options options;
    std::vector<Breakdown> taken;
    std::string failure;  ///< why --fit gave up; else empty
  };

  Start start(const Gpu& gpu, std::uint64_t capacity) const;
  /// The GPUs of a start, where a run may have so many bytes of each; what each card of a machine
  /// leaves to it is known. `cublas`: whether that is loaded.
  std::vector<Card> cards_of(const Gpu& gpu, std::uint64_t capacity, bool cublas) const;
  /// As they are asked for; what Ollama leaves to the card is as it is for that.
  Options asked_of(const Gpu& gpu) const;
  /// As --fit sets what was left open; where it gives up, `failure` says why.
  Options chosen(Options options, const std::vector<Card>& cards, std::string& failure) const;
  /// What it takes, and behind that what the model does that drafts.
  std::vector<Breakdown> starts(const Options& options, const std::vector<Card>& cards) const;
  std::optional<OnHost> left_on_host(const Options& options, const Breakdown& taken) const;

  std::shared_ptr<const Model> model_;
  Options options_;
  std::shared_ptr<const Quantizations> quantizations_;
  std::shared_ptr<const Model> draft_;
  std::shared_ptr<Breakdowns> breakdowns_;  ///< of all its sizes
};

}  // namespace vramfit::llamacpp
