#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/cuda/optimizer/host_updates.h"
#include "model/ops/optimizer_ops.h"

namespace vramfit {

/// Takes optimizer steps, one launch for all of an op's parameters. They are listed in a table that
/// is copied to the op's own from page-locked memory, which this owns, so that the copy is ordered
/// by the stream and the host does not wait for it.
class OptimizerLauncher {
 public:
  /// One parameter as kernels see it.
  struct Entry {
    void* parameter;
    const void* gradient;
    float* master_or_scales;  ///< moments that are codes have no master
    void* momentum;
    void* variance;
    std::int64_t elements;
    std::int64_t first_chunk;  ///< chunks of the parameters before it
    std::int64_t decays;
  };
  static_assert(sizeof(Entry) == 64, "optimizer_table_bytes counts on it");

  /// Has room for as many parameters as any known model has.
  OptimizerLauncher();
  ~OptimizerLauncher();
  OptimizerLauncher(const OptimizerLauncher&) = delete;
  OptimizerLauncher& operator=(const OptimizerLauncher&) = delete;

  void launch(const FindOverflow& op, cudaStream_t stream);
  void launch(const OptimizerStep& op, cudaStream_t stream);

 private:
  template <typename T>
  void launch_step(const OptimizerStep& op, std::int64_t chunks, cudaStream_t stream);
  /// From the first that asks for them on.
  HostUpdates& host_updates();
  void reserve(std::size_t entries);
  void upload(const Tensor& to, const std::vector<Entry>& entries, cudaStream_t stream);
  /// Where the entries stand in page-locked memory, from an earlier step perhaps. Waits for the
  /// copies only where there is no room for them behind those of others.
  const Entry* kept(const std::vector<Entry>& entries);

  Entry* tables_ = nullptr;  ///< page-locked: ops' tables, one behind the other
  std::size_t capacity_ = 0;
  std::vector<std::size_t> ends_;  ///< of each table
  Moment copied_;
  std::unique_ptr<HostUpdates> host_updates_;
};

}  // namespace vramfit
