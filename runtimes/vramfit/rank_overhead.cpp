#include "runtimes/vramfit/rank_overhead.h"

namespace vramfit {

Overhead rank_overhead(const Overhead& overhead, const Mesh& mesh) {
  Overhead own = overhead;
  const RuntimeOverhead* parts = overhead.of("vramfit");
  if (!mesh.alone() && parts != nullptr) {
    own.libraries += (*parts)[mesh.pipelined() ? "nccl_staged" : "nccl_connected"];
  }
  return own;
}

}  // namespace vramfit
