#include <cmath>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "bench/quality/command.h"
#include "bench/quality/perplexity.h"
#include "model/errors.h"

namespace vramfit::bench {
namespace {

constexpr int kBadInput = 2;
constexpr int kFailed = 3;

int complain(const std::exception& error, int status) {
  std::cerr << "quality: error: " << one_line(error.what(), kLongestMessage) << "\n";
  return status;
}

std::unique_ptr<RealDevice> device_of(const QualityOptions& options) {
  std::unique_ptr<RealDevice> device = open_real_device(options.device, options.measuring);
  if (device == nullptr) throw BadInput("device: no GPU answers; --device=cpu for tiny models");
  device->check(parameter_count(options.course.config));
  return device;
}

GenerationOptions generation_of(const QualityOptions& options, const std::string& precision,
                                const std::string& cache) {
  GenerationOptions asked;
  asked.precision = parse_model_precision(precision);
  asked.cache = parse_cache(cache);
  asked.batch = options.course.options.batch;
  asked.seq = options.prompt;
  asked.generate = options.course.options.seq - options.prompt + 1;
  validate(options.course.config, asked);
  return asked;
}

void score(const QualityOptions& options) {
  const std::unique_ptr<RealDevice> device = device_of(options);
  const Text text(options.files.held_out, options.course.config.vocab);
  for (const std::string& cache : options.caches) {
    for (const std::string& precision : options.precisions) {
      const Surprise found =
          surprise(*device, options.course.config, generation_of(options, precision, cache),
                   weights_in(*options.files.start), text, options.windows);
      const nlohmann::json line = {{"precision", precision},
                                   {"cache", cache},
                                   {"loss", found.loss},
                                   {"perplexity", std::exp(found.loss)},
                                   {"tokens", found.tokens}};
      std::cout << line.dump() << std::endl;
    }
  }
}

void write_batches(const QualityOptions& options) {
  const Course& course = options.course;
  const Text text(options.files.text, course.config.vocab);
  ReadingOrder order(text.windows(course.options.seq), course.seed);
  std::ofstream file(options.out, std::ios::binary);
  for (std::int64_t n = 0; n < course.steps * course.options.batch; ++n) {
    const auto window = text.window(order(n), course.options.seq);
    file.write(reinterpret_cast<const char*>(window.data()),
               static_cast<std::streamsize>(window.size_bytes()));
  }
  if (!file.flush()) throw BadInput("out: " + options.out.string() + " cannot be written");
}

int run(int argc, const char* const* argv) {
  const QualityOptions options = parse_quality(argc, argv);
  switch (options.command) {
    case QualityOptions::Command::Train:
      run_course(*device_of(options), options.course, options.files, options.stretch);
      break;
    case QualityOptions::Command::Score:
      score(options);
      break;
    case QualityOptions::Command::Batches:
      write_batches(options);
      break;
    case QualityOptions::Command::None:
      break;
  }
  return 0;
}

}  // namespace
}  // namespace vramfit::bench

int main(int argc, char** argv) {
  namespace bench = vramfit::bench;
  try {
    return bench::run(argc, argv);
  } catch (const vramfit::BadInput& error) {
    return bench::complain(error, bench::kBadInput);
  } catch (const std::exception& error) {
    return bench::complain(error, bench::kFailed);
  }
}
