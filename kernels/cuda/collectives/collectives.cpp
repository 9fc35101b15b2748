#include "kernels/cuda/collectives/collectives.h"

#include <nccl.h>

#include <array>
#include <cstdlib>

#include "kernels/cuda/base/error.h"
#include "kernels/cuda/base/stream.h"
#include "kernels/cuda/collectives/add_part.h"

namespace vramfit {
namespace {

void check(ncclResult_t status, const char* what) {
  if (status == ncclSuccess) return;
  throw CudaError(std::string(what) + ": " + ncclGetErrorString(status) + "; " +
                  ncclGetLastError(nullptr));
}

ncclDataType_t nccl_type(Format format) {
  if (format == Format(DType::Fp32)) return ncclFloat32;
  if (format == Format(DType::Fp16)) return ncclFloat16;
  if (format == Format(DType::Bf16)) return ncclBfloat16;
  throw BadInput(std::string("precision: is ") + format.name() +
                 "; gradients of several GPUs are summed in fp32, fp16 or bf16");
}

std::size_t elements_of(const Tensor& tensor) {
  return static_cast<std::size_t>(tensor.stored().elements());
}

/// What is said between the two is one exchange.
class Group {
 public:
  Group() { check(ncclGroupStart(), "ncclGroupStart"); }
  void end() { check(ncclGroupEnd(), "ncclGroupEnd"); }
};

/// Of a communicator that carries messages: a pipeline's step is as fast with one, and each takes
/// memory. A tied head's gradients want some more.
constexpr int kChannelsOfMessages = 4;

/// Before NCCL reads its environment. All connections are made as ranks meet, so that no collective
/// takes memory later; NVLink's multicast takes memory of another kind, and is left alone.
void set_environment(const CudaRank& rank) {
  setenv("NCCL_COMM_ID", rank.address.c_str(), 1);
  setenv("NCCL_RUNTIME_CONNECT", "0", 1);
  setenv("NCCL_NVLS_ENABLE", "0", 1);
  if (rank.correspondents.empty()) return;
  setenv("NCCL_MAX_P2P_NCHANNELS", std::to_string(kChannelsOfMessages).c_str(), 0);
}

}  // namespace

struct Collectives::Impl {
  Impl(const CudaRank& rank, cudaStream_t ops_) : ops(ops_), ranks(rank.ranks), own(rank.rank) {
    set_environment(rank);
    ncclUniqueId id{};
    check(ncclGetUniqueId(&id), "ncclGetUniqueId");
    int lowest = 0;
    int highest = 0;
    vramfit::check(cudaDeviceGetStreamPriorityRange(&lowest, &highest), "stream priorities");
    vramfit::check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, highest), "stream");
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 1;
    if (!rank.correspondents.empty()) config.maxCTAs = kChannelsOfMessages;
    check(ncclCommInitRankConfig(&communicator, static_cast<int>(rank.ranks), id,
                                 static_cast<int>(rank.rank), &config),
          "ncclCommInitRank");
    warm_up(rank.correspondents);
  }
  ~Impl() {
    warn(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    ncclCommDestroy(communicator);
    warn(cudaStreamDestroy(stream), "cudaStreamDestroy");
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  /// Each kind of sum, of message and of size once, on memory that is given back: libraries load
  /// what they will.
  void warm_up(const std::vector<std::int64_t>& correspondents);
  /// Sends and receives as much, at once.
  void exchange(const void* from, void* to, std::uint64_t bytes, std::int64_t rank);

  /// What follows waits for the ops that were given before.
  void begin() {
    given.note(ops);
    given.hold(stream);
  }
  void end(Ticket& ticket) {
    ticket.number = ++started;
    done[started % done.size()].note(stream);
  }

  cudaStream_t ops;
  const std::int64_t ranks;
  const std::int64_t own;
  cudaStream_t stream = nullptr;
  ncclComm_t communicator = nullptr;
  Moment given;
  /// Of the latest collectives, by their number. An older one's ticket waits for the oldest here.
  std::array<Moment, 64> done;
  std::uint64_t started = 0;
};

void Collectives::Impl::exchange(const void* from, void* to, std::uint64_t bytes,
                                 std::int64_t rank) {
  Group group;
  check(ncclSend(from, bytes, ncclUint8, static_cast<int>(rank), communicator, stream), "ncclSend");
  check(ncclRecv(to, bytes, ncclUint8, static_cast<int>(rank), communicator, stream), "ncclRecv");
  group.end();
}

void Collectives::Impl::warm_up(const std::vector<std::int64_t>& correspondents) {
  constexpr std::size_t kMost = std::size_t{64} << 20;
  void* memory = nullptr;
  vramfit::check(cudaMalloc(&memory, kMost), "cudaMalloc");
  const auto parts = static_cast<std::size_t>(ranks);
  for (const ncclDataType_t type : {ncclFloat32, ncclFloat16, ncclBfloat16}) {
    for (std::size_t bytes = 4 * parts; bytes <= kMost; bytes *= 16) {
      const std::size_t of_part = bytes / 4 / parts;
      auto* own_part =
          static_cast<std::byte*>(memory) + 4 * of_part * static_cast<std::size_t>(own);
      check(ncclAllReduce(memory, memory, of_part * parts, type, ncclSum, communicator, stream),
            "ncclAllReduce");
      check(ncclReduceScatter(memory, own_part, of_part, type, ncclSum, communicator, stream),
            "ncclReduceScatter");
      check(ncclAllGather(own_part, memory, 4 * of_part, ncclUint8, communicator, stream),
            "ncclAllGather");
    }
  }
  for (std::size_t bytes = 16; bytes <= kMost / 2; bytes *= 16) {
    for (const std::int64_t rank : correspondents) {
      exchange(memory, static_cast<std::byte*>(memory) + kMost / 2, bytes, rank);
    }
  }
  vramfit::check(cudaStreamSynchronize(stream), "warm-up of NCCL");
  vramfit::check(cudaFree(memory), "cudaFree");
}

Collectives::Collectives(const CudaRank& rank, cudaStream_t ops)
    : impl_(std::make_unique<Impl>(rank, ops)) {}
Collectives::~Collectives() = default;

void Collectives::run(const AllReduce& op) {
  impl_->begin();
  Group group;
  for (const Tensor* tensor : op.tensors) {
    check(ncclAllReduce(tensor->data(), tensor->data(), elements_of(*tensor),
                        nccl_type(tensor->format()), ncclSum, impl_->communicator, impl_->stream),
          "ncclAllReduce");
  }
  group.end();
  impl_->end(op.ticket);
}

void Collectives::run(const ReduceScatter& op) {
  impl_->begin();
  const auto own_rows = [&](const PartOfSum& one) {
    return one.whole.as<std::byte>() + one.part.bytes() * static_cast<std::uint64_t>(impl_->own);
  };
  Group group;
  for (const PartOfSum& one : op.parts) {
    void* to = one.accumulate ? own_rows(one) : one.part.data();
    check(ncclReduceScatter(one.whole.data(), to, elements_of(one.part),
                            nccl_type(one.whole.format()), ncclSum, impl_->communicator,
                            impl_->stream),
          "ncclReduceScatter");
  }
  group.end();
  for (const PartOfSum& one : op.parts) {
    if (one.accumulate) add_part(one.part, own_rows(one), impl_->stream);
  }
  impl_->end(op.ticket);
}

void Collectives::run(const AllGather& op) {
  impl_->begin();
  Group group;
  for (const PartOfWhole& one : op.parts) {
    check(ncclAllGather(one.part.data(), one.whole.data(), one.part.bytes(), ncclUint8,
                        impl_->communicator, impl_->stream),
          "ncclAllGather");
  }
  group.end();
  impl_->end(op.ticket);
}

void Collectives::run(const Exchange& op) {
  impl_->begin();
  Group group;
  for (const Message& one : op.sends) {
    check(ncclSend(one.tensor.data(), one.tensor.bytes(), ncclUint8, static_cast<int>(one.rank),
                   impl_->communicator, impl_->stream),
          "ncclSend");
  }
  for (const Message& one : op.receives) {
    check(ncclRecv(one.tensor.data(), one.tensor.bytes(), ncclUint8, static_cast<int>(one.rank),
                   impl_->communicator, impl_->stream),
          "ncclRecv");
  }
  group.end();
  impl_->end(op.ticket);
}

void Collectives::run(const SumWith& op) {
  impl_->begin();
  const Format format = op.tensor.format();
  const std::int64_t elements = op.tensor.stored().elements();
  const auto at_once = static_cast<std::int64_t>(op.slot.bytes() / format.bytes(1));
  for (std::int64_t first = 0; first < elements; first += at_once) {
    const Shape count = {std::min(at_once, elements - first)};
    const Tensor part = Tensor::view(op.tensor, format.bytes(first), op.tensor.name(),
                                     op.tensor.category(), format, count, count);
    impl_->exchange(part.data(), op.slot.data(), part.bytes(), op.rank);
    add_part(part, op.slot.data(), impl_->stream);
  }
  impl_->end(op.ticket);
}

void Collectives::run(const Await& op) {
  const std::uint64_t number = op.ticket.number;
  op.ticket = {};
  if (number == 0) return;
  const std::uint64_t kept = impl_->done.size();
  const std::uint64_t oldest = impl_->started < kept ? 1 : impl_->started - kept + 1;
  vramfit::check(cudaStreamWaitEvent(impl_->ops, impl_->done[std::max(number, oldest) % kept], 0),
                 "cudaStreamWaitEvent");
}

void Collectives::synchronize() {
  vramfit::check(cudaStreamSynchronize(impl_->stream), "collectives");
}

std::string nccl_version() {
  int version = 0;
  check(ncclGetVersion(&version), "ncclGetVersion");
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

}  // namespace vramfit
