#pragma once

#include <filesystem>
#include <optional>

#include "bench/devices/real_device.h"
#include "bench/quality/text.h"
#include "model/transformer/training.h"

namespace vramfit::bench {

/// What is learnt, and how: all that says which losses come out.
struct Course {
  ModelConfig config;
  TrainingOptions options;       ///< of one micro-batch a step; its learning rate is the highest
  int steps = 0;                 ///< of the whole course, whose learning rate falls to its end
  int warm_up = 0;               ///< steps to the highest learning rate
  std::uint64_t seed = 1;        ///< of the order in which text is read
  int evaluate_every = 0;        ///< steps; 0: before the first and behind the last alone
  std::int64_t evaluate_on = 0;  ///< batches of held-out text
};

/// A line up to the highest rate, then half a cosine down to a tenth of it. `step` counts from 1.
float learning_rate(const Course& course, int step);

/// The batch of a step, from 0.
Windows batch_of(const Course& course, const Text& text, ReadingOrder& order, int step);

/// Where a course reads and writes.
struct CourseFiles {
  std::filesystem::path text;
  std::filesystem::path held_out;
  /// Where the course stands between one stretch and the next: goes on from it where it is there,
  /// and leaves it behind. None: the course is not kept.
  std::optional<std::filesystem::path> checkpoint;
  /// Weights to start with; else they are drawn. Adapters are drawn in either case.
  std::optional<std::filesystem::path> start;
  std::filesystem::path log;  ///< lines of JSON: each step's loss, and losses of held-out text
};

/// Ends a stretch before the course has ended.
struct Stretch {
  int to_step = 0;
  double seconds = 0;
};

/// Learns from where the checkpoint stands to the stretch's end. A course that stopped and went on
/// yields what one does that did not, on the CPU to the bit.
void run_course(RealDevice& device, const Course& course, const CourseFiles& files,
                const Stretch& stretch);

/// Weights of such a checkpoint: masters where there are some, rounded to what is asked for.
ParameterSource weights_in(const std::filesystem::path& path);

/// Bytes that a run may map on the device.
std::uint64_t capacity_of(const RealDevice& device);

}  // namespace vramfit::bench
