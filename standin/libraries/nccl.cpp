#include <cstddef>
#include <cstdint>
#include <cstring>

#include "standin/copies.h"
#include "standin/kernels/kernels.h"
#include "standin/libraries/cuda.h"
#include "standin/libraries/loads.h"
#include "standin/libraries/tables.h"
#include "standin/machine.h"

// NCCL: communicators, which take memory as they are made and first used. Each process runs by
// itself: all other ranks are taken to have what it has.
namespace vramfit::standin {
namespace {

constexpr int kVersion = 22809;

struct Communicator {
  int ranks;
  int rank;
  bool used = false;
};

Result get_version(int* version) {
  *version = kVersion;
  return kSuccess;
}
Result get_unique_id(void* id) {
  std::memset(id, 0, 128);
  return kSuccess;
}
Result make(Communicator** communicator, int ranks, int rank) {
  const Locked machine;
  load_communicator(*machine, machine->active());
  *communicator = new Communicator{ranks, rank};
  return kSuccess;
}
struct UniqueId {
  char bytes[128];
};
Result init_rank(Communicator** communicator, int ranks, UniqueId /*id*/, int rank) {
  return make(communicator, ranks, rank);
}
Result init_rank_config(Communicator** communicator, int ranks, UniqueId /*id*/, int rank,
                        void* /*config*/) {
  return make(communicator, ranks, rank);
}
Result init_rank_scalable(Communicator** communicator, int ranks, int rank, int /*ids*/,
                          UniqueId* /*id*/, void* /*config*/) {
  return make(communicator, ranks, rank);
}
Result split(Communicator* from, int /*colour*/, int /*key*/, Communicator** communicator,
             void* /*config*/) {
  return make(communicator, from->ranks, from->rank);
}
Result destroy(Communicator* communicator) {
  delete communicator;
  return kSuccess;
}
Result count(Communicator* communicator, int* ranks) {
  *ranks = communicator->ranks;
  return kSuccess;
}
Result user_rank(Communicator* communicator, int* rank) {
  *rank = communicator->rank;
  return kSuccess;
}
Result async_error(Communicator* /*communicator*/, Result* error) {
  *error = kSuccess;
  return kSuccess;
}
const char* error_string(Result) { return "NCCL, stood in for by vramfit"; }
const char* last_error_of(Communicator*) { return ""; }

/// By ncclDataType_t.
std::uint64_t bytes_of(std::size_t count, int type) {
  constexpr std::uint64_t kBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return count * kBytes[type];
}

Result collective(Communicator* among) {
  const Locked machine;
  if (!among->used) load_collectives(*machine, machine->active());
  among->used = true;
  kernels().count("nccl collective");
  return kSuccess;
}
/// Those whose values nobody needs, by the place of their communicator.
Result send_or_receive(const void* /*with*/, std::size_t /*count*/, int /*type*/, int /*peer*/,
                       Communicator* among, void* /*stream*/) {
  return collective(among);
}
Result all_to_all(const void* /*from*/, void* /*to*/, std::size_t /*count*/, int /*type*/,
                  Communicator* among, void* /*stream*/) {
  return collective(among);
}
Result scatter_or_broadcast(const void* /*from*/, void* /*to*/, std::size_t /*count*/, int /*type*/,
                            int /*operation_or_root*/, Communicator* among, void* /*stream*/) {
  return collective(among);
}
Result reduce(const void* /*from*/, void* /*to*/, std::size_t /*count*/, int /*type*/,
              int /*operation*/, int /*root*/, Communicator* among, void* /*stream*/) {
  return collective(among);
}
Result all_gather(const void* from, void* to, std::size_t count, int type, Communicator* among,
                  void* /*stream*/) {
  collective(among);
  const Locked machine;
  const std::uint64_t bytes = bytes_of(count, type);
  for (int rank = 0; rank < among->ranks; ++rank) {
    copy(*machine, static_cast<std::byte*>(to) + bytes * static_cast<std::uint64_t>(rank), from,
         bytes);
  }
  return kSuccess;
}
/// A sum is not computed.
Result all_reduce(const void* from, void* to, std::size_t count, int type, int operation,
                  Communicator* among, void* /*stream*/) {
  constexpr int kSum = 0;
  constexpr int kProduct = 1;
  collective(among);
  const Locked machine;
  const std::uint64_t bytes = bytes_of(count, type);
  if (among->ranks == 1 || (operation != kSum && operation != kProduct)) {
    copy(*machine, to, from, bytes);
  } else if (Device* gpu = machine->owner(address_of(to))) {
    gpu->memory.values().set(address_of(to), bytes, Knowledge::Unknown);
  }
  return kSuccess;
}
Result nothing() { return kSuccess; }

Result mem_alloc(void** pointer, std::size_t bytes) {
  const Locked machine;
  const std::uint64_t address = machine->active().memory.allocate(bytes);
  *pointer = pointer_to(address);
  return address != 0 ? kSuccess : 1;  // ncclUnhandledCudaError
}
Result mem_free(void* pointer) {
  const Locked machine;
  machine->active().memory.free(address_of(pointer));
  return kSuccess;
}

}  // namespace

std::span<const Answer> nccl_answers() {
  static const Answer answers[] = {
      answer("ncclGetVersion", get_version),
      answer("ncclGetUniqueId", get_unique_id),
      answer("ncclCommInitRank", init_rank),
      answer("ncclCommInitRankConfig", init_rank_config),
      answer("ncclCommInitRankScalable", init_rank_scalable),
      answer("ncclCommSplit", split),
      answer("ncclCommDestroy", destroy),
      answer("ncclCommAbort", destroy),
      answer("ncclCommFinalize", nothing),
      answer("ncclCommCount", count),
      answer("ncclCommUserRank", user_rank),
      answer("ncclCommGetAsyncError", async_error),
      answer("ncclGetErrorString", error_string),
      answer("ncclGetLastError", last_error_of),
      answer("ncclGroupStart", nothing),
      answer("ncclGroupEnd", nothing),
      answer("ncclCommRegister", nothing),
      answer("ncclCommDeregister", nothing),
      answer("ncclAllReduce", all_reduce),
      answer("ncclAllGather", all_gather),
      answer("ncclReduceScatter", scatter_or_broadcast),
      answer("ncclBroadcast", scatter_or_broadcast),
      answer("ncclBcast", send_or_receive),
      answer("ncclReduce", reduce),
      answer("ncclSend", send_or_receive),
      answer("ncclRecv", send_or_receive),
      answer("ncclAlltoAll", all_to_all),
      answer("ncclMemAlloc", mem_alloc),
      answer("ncclMemFree", mem_free),
  };
  return answers;
}

}  // namespace vramfit::standin
