#include "kernels/cuda/collectives/collectives.h"
#include "model/errors.h"

namespace vramfit {
namespace {

[[noreturn]] void refuse() {
  throw BadInput(
      "gpus: several need NCCL, which this build has none of; install its library and "
      "headers and build again");
}

}  // namespace

struct Collectives::Impl {};

Collectives::Collectives(const CudaRank&, cudaStream_t) { refuse(); }
Collectives::~Collectives() = default;
void Collectives::run(const AllReduce&) { refuse(); }
void Collectives::run(const ReduceScatter&) { refuse(); }
void Collectives::run(const AllGather&) { refuse(); }
void Collectives::run(const Exchange&) { refuse(); }
void Collectives::run(const SumWith&) { refuse(); }
void Collectives::run(const Await&) { refuse(); }
void Collectives::synchronize() { refuse(); }

std::string nccl_version() { return "none"; }

}  // namespace vramfit
