#include "standin/stream/streams.h"

namespace vramfit::standin {

Stream* Streams::create(int device, int priority) {
  auto stream = std::make_unique<Stream>(Stream{priority, device, 0});
  Stream* handle = stream.get();
  own_.emplace(handle, std::move(stream));
  return handle;
}

Stream& Streams::of(void* handle) {
  const auto found = own_.find(static_cast<Stream*>(handle));
  return found == own_.end() ? default_ : *found->second;
}

void Streams::record(Event& event, Stream& stream) {
  event = {true, epoch_, stream.capture};
  work_less(stream);
}

bool Streams::done(const Event& event, bool counts) {
  if (!event.recorded || event.epoch < epoch_) return true;
  if (counts) ++doubtful_;
  return !late_;
}

void Streams::wait(Stream& stream, const Event& event) {
  if (event.capture != 0) stream.capture = event.capture;
}

std::uint64_t Streams::begin_capture(Stream& stream) {
  stream.capture = ++captures_;
  captured_[stream.capture] = {};
  return stream.capture;
}

Graph* Streams::end_capture(Stream& stream) {
  const std::uint64_t capture = stream.capture;
  for (auto& [handle, other] : own_) {
    if (other->capture == capture) other->capture = 0;
  }
  if (default_.capture == capture) default_.capture = 0;
  auto* graph = new Graph(captured_[capture]);
  captured_.erase(capture);
  return graph;
}

void Streams::work(Stream& stream, std::uint64_t arguments) {
  work_less(stream);
  if (stream.capture != 0) captured_[stream.capture].size.add_kernel(arguments);
}

void Streams::work_less(Stream& stream) {
  if (stream.capture != 0) ++captured_[stream.capture].nodes;
}

}  // namespace vramfit::standin
