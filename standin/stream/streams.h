#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <unordered_map>

#include "standin/stream/graph_memory.h"

namespace vramfit::standin {

struct Stream {
  int priority = 0;
  int device = 0;
  std::uint64_t capture = 0;  ///< the capture it takes part in; 0: none
};

struct Event {
  bool recorded = false;
  std::uint64_t epoch = 0;    ///< the synchronisations there had been when it was recorded
  std::uint64_t capture = 0;  ///< recorded in this capture; 0: none
};

struct Graph {
  std::uint64_t nodes = 0;
  GraphSize size;
  int device = 0;  ///< once it can be launched
};

/// Streams, events and captures of a process. Work takes no time: an event is done as soon as it
/// is recorded, or, the other extreme, when the host next waits for the GPU. Figures that hang on
/// which lie between the two.
class Streams {
 public:
  explicit Streams(bool late) : late_(late) {}

  Stream* create(int device, int priority);
  void destroy(Stream* stream) { own_.erase(stream); }
  /// The stream behind a handle: null, 1 and 2 are the default streams.
  Stream& of(void* handle);

  /// The host waits: all that was recorded is done.
  void synchronize() { ++epoch_; }
  void record(Event& event, Stream& stream);
  /// `counts`: a GPU's memory hangs on the answer.
  bool done(const Event& event, bool counts);
  /// How often that hung on what a busy GPU might not have finished.
  std::uint64_t doubtful() const { return doubtful_; }
  /// What follows in the stream awaits the event; in a capture, the stream joins it.
  static void wait(Stream& stream, const Event& event);

  std::uint64_t begin_capture(Stream& stream);
  /// All streams that took part are out of it.
  Graph* end_capture(Stream& stream);
  /// A kernel or a copy, of so many bytes of arguments: part of the graph where its stream is
  /// captured.
  void work(Stream& stream, std::uint64_t arguments = 0);
  /// What is no kernel: an event, or bytes that are set.
  void work_less(Stream& stream);

 private:
  bool late_;
  std::uint64_t epoch_ = 0;
  std::uint64_t doubtful_ = 0;
  std::uint64_t captures_ = 0;
  Stream default_;
  std::unordered_map<Stream*, std::unique_ptr<Stream>> own_;
  std::unordered_map<std::uint64_t, Graph> captured_;  ///< by capture
};

}  // namespace vramfit::standin
