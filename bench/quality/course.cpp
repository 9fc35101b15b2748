#include "bench/quality/course.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <numbers>

#include "bench/devices/floats.h"
#include "bench/quality/log.h"
#include "bench/quality/tensor_file.h"
#include "estimator/budget.h"
#include "model/errors.h"

namespace vramfit::bench {
namespace {

using nlohmann::json;

constexpr float kLowestRate = 0.1F;  ///< of the highest: where the cosine ends
constexpr const char* kSteps = "steps";

/// Seconds since it was made.
class Clock {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

double held_out_loss(Trainer& trainer, const Course& course, const Text& text) {
  const std::int64_t seq = course.options.seq;
  const std::int64_t windows = text.windows(seq);
  double sum = 0;
  for (std::int64_t n = 0; n < course.evaluate_on; ++n) {
    Windows batch;
    for (std::int64_t b = 0; b < course.options.batch; ++b) {
      batch.add(text.window((n * course.options.batch + b) % windows, seq));
    }
    sum += trainer.evaluate(
        [&](Device& on, Tensor& tokens, Tensor& targets) { batch.upload(on, tokens, targets); });
  }
  return sum / static_cast<double>(course.evaluate_on);
}

void restore(TensorFile& file, Device& device, Trainer& trainer) {
  trainer.go_on_after(std::stoi(file.fact(kSteps)));
  for (const Tensor* tensor : trainer.state()) file.fill(device, *tensor);
}

/// A course under way on a device.
class Run {
 public:
  Run(Device& device, Ledger& ledger, const Course& course, const CourseFiles& files)
      : device_(device),
        course_(course),
        files_(files),
        text_(files.text, course.config.vocab),
        held_out_(files.held_out, course.config.vocab),
        order_(text_.windows(course.options.seq), course.seed),
        trainer_(device, ledger, course.config, course.options,
                 files.start ? weights_in(*files.start) : draw_parameter) {
    if (files.checkpoint && std::filesystem::exists(*files.checkpoint)) {
      TensorFile file(*files.checkpoint);
      restore(file, device, trainer_);
    }
    log_ = std::make_unique<StepLog>(files.log, trainer_.steps());
  }

  void go(const Stretch& stretch) {
    if (trainer_.steps() == 0) evaluate();
    while (trainer_.steps() < stretch.to_step && clock_.seconds() < stretch.seconds) step();
    if (files_.checkpoint) {
      write_tensors(*files_.checkpoint, device_, trainer_.state(),
                    {{kSteps, std::to_string(trainer_.steps())}});
    }
  }

 private:
  void step() {
    const int number = trainer_.steps() + 1;
    const float rate = learning_rate(course_, number);
    const Windows batch = batch_of(course_, text_, order_, number - 1);
    trainer_.set_learning_rate(rate);
    trainer_.step(
        [&](Device& on, Tensor& tokens, Tensor& targets) { batch.upload(on, tokens, targets); });
    log_->say({{"step", number},
               {"loss", trainer_.loss()},
               {"learning_rate", rate},
               {"seconds", clock_.seconds()}});
    const bool asked = course_.evaluate_every > 0 && number % course_.evaluate_every == 0;
    if (asked || number == course_.steps) evaluate();
  }

  void evaluate() {
    if (course_.evaluate_on == 0) return;
    log_->say({{"step", trainer_.steps()},
               {"held_out_loss", held_out_loss(trainer_, course_, held_out_)}});
  }

  Clock clock_;
  Device& device_;
  const Course& course_;
  const CourseFiles& files_;
  const Text text_;
  const Text held_out_;
  ReadingOrder order_;
  Trainer trainer_;
  std::unique_ptr<StepLog> log_;
};

}  // namespace

float learning_rate(const Course& course, int step) {
  const float highest = course.options.settings.learning_rate;
  if (step <= course.warm_up) {
    return highest * static_cast<float>(step) / static_cast<float>(course.warm_up);
  }
  const int falling = std::max(course.steps - course.warm_up, 1);
  const float done = static_cast<float>(step - course.warm_up) / static_cast<float>(falling);
  const float of_cosine = 0.5F * (1.0F + std::cos(std::numbers::pi_v<float> * done));
  return highest * (kLowestRate + (1.0F - kLowestRate) * of_cosine);
}

Windows batch_of(const Course& course, const Text& text, ReadingOrder& order, int step) {
  Windows batch;
  for (std::int64_t b = 0; b < course.options.batch; ++b) {
    batch.add(text.window(order(step * course.options.batch + b), course.options.seq));
  }
  return batch;
}

void run_course(RealDevice& device, const Course& course, const CourseFiles& files,
                const Stretch& stretch) {
  validate(course.config, course.options);
  device.time(capacity_of(device), [&](Device& on, Ledger& ledger, Stopwatch&) {
    Run(on, ledger, course, files).go(stretch);
  });
}

ParameterSource weights_in(const std::filesystem::path& path) {
  const auto file = std::make_shared<TensorFile>(path);
  return [file](Device& device, const ParameterPart& part, Tensor& to) {
    const std::string name = part.spec.name.text();
    const std::string master = part.spec.name.part("master").text();
    if (!file->has(name)) return draw_parameter(device, part, to);
    upload_floats(
        device, file->floats(file->has(master) ? master : name, part.first, to.shape().elements()),
        to);
  };
}

std::uint64_t capacity_of(const RealDevice& device) {
  const std::optional<Card> card = device.card();
  return card ? pool_capacity(card->vram, card->overhead) : kUnlimitedBytes;
}

}  // namespace vramfit::bench
