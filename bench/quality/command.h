#pragma once

#include <string>
#include <vector>

#include "bench/quality/course.h"

namespace vramfit::bench {

/// What `quality` was asked, whichever of its commands it was.
struct QualityOptions {
  enum class Command : std::uint8_t { None, Train, Score, Batches };
  Command command = Command::None;  ///< None: help was asked for, and has been printed
  std::string device;
  MeasuringOptions measuring;
  Course course;  ///< its batch and seq are every command's
  CourseFiles files;
  Stretch stretch;
  // Of `score`, which reads files.start and files.held_out:
  std::vector<std::string> precisions;
  std::vector<std::string> caches;
  std::int64_t prompt = 0;   ///< tokens of a window
  std::int64_t windows = 0;  ///< of the text
  // Of `batches`:
  std::filesystem::path out;
};

/// Throws BadInput.
QualityOptions parse_quality(int argc, const char* const* argv);

}  // namespace vramfit::bench
