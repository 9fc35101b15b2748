#pragma once

#include <cuda_runtime_api.h>

#include <utility>

#include "kernels/cuda/base/error.h"

namespace vramfit {

/// A stream of one's own, beside the legacy default stream. Ends when all it was given is done.
class Stream {
 public:
  explicit Stream(int priority = 0) {
    check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, priority), "cudaStream");
  }
  ~Stream() {
    warn(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
    warn(cudaStreamDestroy(stream_), "cudaStreamDestroy");
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

/// A moment in streams' work: the last that was noted.
class Moment {
 public:
  enum class Timed : bool { No, Yes };

  explicit Moment(Timed timed = Timed::No) {
    const unsigned flags = timed == Timed::Yes ? cudaEventDefault : cudaEventDisableTiming;
    check(cudaEventCreateWithFlags(&event_, flags), "cudaEventCreate");
  }
  ~Moment() {
    if (event_ != nullptr) warn(cudaEventDestroy(event_), "cudaEventDestroy");
  }
  Moment(Moment&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Moment& operator=(Moment&&) = delete;

  operator cudaEvent_t() const { return event_; }

  /// When what the stream was given so far is done; does not wait for it.
  void note(cudaStream_t stream) { check(cudaEventRecord(event_, stream), "cudaEventRecord"); }
  /// What the stream is given from now on waits for it.
  void hold(cudaStream_t stream) const {
    check(cudaStreamWaitEvent(stream, event_, 0), "cudaStreamWaitEvent");
  }
  /// The host waits for it.
  void wait() const { check(cudaEventSynchronize(event_), "cudaEventSynchronize"); }

  /// Of timed ones, both past.
  float milliseconds_since(const Moment& earlier) const {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, earlier.event_, event_), "cudaEventElapsedTime");
    return milliseconds;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace vramfit
