#include "estimator/timeline/timeline_files.h"

#include "estimator/timeline/snapshot.h"
#include "estimator/timeline/trace.h"

namespace vramfit {
namespace {

std::unique_ptr<AtomicFile> opened(const char* flag, const std::optional<std::string>& path) {
  return path ? std::make_unique<AtomicFile>(flag, *path) : nullptr;
}

}  // namespace

TimelineFiles::TimelineFiles(const std::optional<std::string>& snapshot,
                             const std::optional<std::string>& trace)
    : snapshot_(opened("snapshot", snapshot)), trace_(opened("trace", trace)) {}

void TimelineFiles::write(const Timeline& timeline) const {
  if (snapshot_) snapshot_->replace(memory_snapshot(timeline));
  if (trace_) trace_->replace(chrome_trace(timeline));
}

}  // namespace vramfit
