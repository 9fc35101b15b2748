#include <dlfcn.h>

#include <memory>
#include <string_view>
#include <unordered_map>

#include "standin/libraries/cuda.h"
#include "standin/libraries/loads.h"
#include "standin/libraries/tables.h"
#include "standin/machine.h"

// The CUDA runtime's streams, events, captures and graphs.
namespace vramfit::standin {
namespace {

Result cuda_stream_create_with_priority(void** stream, unsigned /*flags*/, int priority) {
  const Locked machine;
  load_streams(*machine, machine->active());
  *stream = machine->streams.create(Machine::current(), priority);
  return kSuccess;
}
Result cuda_stream_create(void** stream) { return cuda_stream_create_with_priority(stream, 0, 0); }
Result cuda_stream_create_with_flags(void** stream, unsigned flags) {
  return cuda_stream_create_with_priority(stream, flags, 0);
}
Result cuda_stream_destroy(void* stream) {
  const Locked machine;
  machine->streams.destroy(static_cast<Stream*>(stream));
  return kSuccess;
}
Result cuda_stream_get_priority(void* stream, int* priority) {
  const Locked machine;
  *priority = machine->streams.of(stream).priority;
  return kSuccess;
}
Result synchronize() {
  const Locked machine;
  machine->active();
  machine->streams.synchronize();
  return kSuccess;
}
Result cuda_stream_synchronize(void* /*stream*/) { return synchronize(); }
Result cuda_stream_wait_event(void* stream, void* event, unsigned /*flags*/) {
  const Locked machine;
  Streams::wait(machine->streams.of(stream), *static_cast<Event*>(event));
  return kSuccess;
}
Result cuda_device_get_stream_priority_range(int* least, int* greatest) {
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return kSuccess;
}
/// What the host is to do when the stream comes to it: at once.
Result cuda_launch_host_func(void* /*stream*/, void (*function)(void*), void* data) {
  function(data);
  return kSuccess;
}
Result cuda_stream_add_callback(void* stream, void (*function)(void*, Result, void*), void* data,
                                unsigned /*flags*/) {
  function(stream, kSuccess, data);
  return kSuccess;
}

Result cuda_event_create_with_flags(void** event, unsigned /*flags*/) {
  const Locked machine;
  machine->active();
  *event = new Event;
  return kSuccess;
}
Result cuda_event_create(void** event) { return cuda_event_create_with_flags(event, 0); }
Result cuda_event_destroy(void* event) {
  delete static_cast<Event*>(event);
  return kSuccess;
}
Result cuda_event_record(void* event, void* stream) {
  const Locked machine;
  machine->streams.record(*static_cast<Event*>(event), machine->streams.of(stream));
  return kSuccess;
}
Result cuda_event_record_with_flags(void* event, void* stream, unsigned /*flags*/) {
  return cuda_event_record(event, stream);
}
/// PyTorch's allocator of page-locked memory, and what watches over its collectives: whatever they
/// are told, a GPU's memory stays as it is. Under the machine's lock.
bool asks_for_the_host(const void* caller) {
  static auto* const known = new std::unordered_map<const void*, bool>;
  const auto [answer, fresh] = known->try_emplace(caller, false);
  if (fresh) {
    Dl_info found{};
    answer->second = ::dladdr(caller, &found) != 0 && found.dli_fname &&
                     std::string_view(found.dli_fname).ends_with("libtorch_cuda.so");
  }
  return answer->second;
}

Result cuda_event_query(void* event) {
  const void* caller = __builtin_return_address(0);
  const Locked machine;
  const bool done = machine->streams.done(*static_cast<Event*>(event), !asks_for_the_host(caller));
  return done ? kSuccess : kNotReady;
}
Result cuda_event_synchronize(void* /*event*/) { return synchronize(); }
Result cuda_event_elapsed_time(float* milliseconds, void* /*start*/, void* /*end*/) {
  *milliseconds = 1;
  return kSuccess;
}

Result cuda_stream_is_capturing(void* stream, CaptureStatus* status) {
  const Locked machine;
  const bool captured = machine->streams.of(stream).capture != 0;
  *status = captured ? CaptureStatus::Active : CaptureStatus::None;
  return kSuccess;
}
/// The graph, its dependencies and their edges are nobody's to see.
Result capture_info(void* stream, CaptureStatus* status, unsigned long long* id) {
  const Locked machine;
  const std::uint64_t capture = machine->streams.of(stream).capture;
  *status = capture != 0 ? CaptureStatus::Active : CaptureStatus::None;
  if (id) *id = capture;
  return kSuccess;
}
/// CUDA 13's, and 12.3's _v3.
Result cuda_stream_get_capture_info(void* stream, CaptureStatus* status, unsigned long long* id,
                                    void** graph, const void** dependencies, const void** edges,
                                    std::size_t* count) {
  if (graph) *graph = nullptr;
  if (dependencies) *dependencies = nullptr;
  if (edges) *edges = nullptr;
  if (count) *count = 0;
  return capture_info(stream, status, id);
}
Result cuda_stream_get_capture_info_v2(void* stream, CaptureStatus* status, unsigned long long* id,
                                       void** graph, const void** dependencies,
                                       std::size_t* count) {
  return cuda_stream_get_capture_info(stream, status, id, graph, dependencies, nullptr, count);
}
Result cuda_stream_begin_capture(void* stream, int /*mode*/) {
  const Locked machine;
  machine->streams.begin_capture(machine->streams.of(stream));
  return kSuccess;
}
Result cuda_stream_end_capture(void* stream, void** graph) {
  const Locked machine;
  Stream& captured = machine->streams.of(stream);
  *graph = nullptr;
  if (captured.capture == 0) return fail(kCaptureInvalid);
  *graph = machine->streams.end_capture(captured);
  return kSuccess;
}
Result cuda_graph_instantiate(void** executable, void* graph, unsigned long long /*flags*/) {
  const Locked machine;
  auto* made = new Graph(*static_cast<Graph*>(graph));
  made->device = Machine::current();
  load_graph(machine->gpu(made->device), made->size);
  *executable = made;
  return kSuccess;
}
Result cuda_graph_exec_destroy(void* executable) {
  const Locked machine;
  const std::unique_ptr<Graph> graph(static_cast<Graph*>(executable));
  machine->gpu(graph->device).graphs.remove(graph->size);
  return kSuccess;
}
Result cuda_graph_destroy(void* graph) {
  delete static_cast<Graph*>(graph);
  return kSuccess;
}
Result cuda_graph_get_nodes(void* graph, void** nodes, std::size_t* count) {
  const std::uint64_t all = static_cast<Graph*>(graph)->nodes;
  if (nodes) {
    for (std::size_t i = 0; i < *count && i < all; ++i) nodes[i] = graph;
  }
  *count = all;
  return kSuccess;
}
Result cuda_graph_node_get_dependencies(void* /*node*/, void** /*dependencies*/, void** /*edges*/,
                                        std::size_t* count) {
  if (count) *count = 0;
  return kSuccess;
}

}  // namespace

std::span<const Answer> runtime_stream_answers() {
  static const Answer answers[] = {
      answer("cudaStreamCreate", cuda_stream_create),
      answer("cudaStreamCreateWithFlags", cuda_stream_create_with_flags),
      answer("cudaStreamCreateWithPriority", cuda_stream_create_with_priority),
      answer("cudaStreamDestroy", cuda_stream_destroy),
      answer("cudaStreamGetPriority", cuda_stream_get_priority),
      answer("cudaStreamSynchronize", cuda_stream_synchronize),
      answer("cudaStreamWaitEvent", cuda_stream_wait_event),
      answer("cudaDeviceSynchronize", synchronize),
      answer("cudaDeviceGetStreamPriorityRange", cuda_device_get_stream_priority_range),
      answer("cudaLaunchHostFunc", cuda_launch_host_func),
      answer("cudaStreamAddCallback", cuda_stream_add_callback),
      answer("cudaEventCreate", cuda_event_create),
      answer("cudaEventCreateWithFlags", cuda_event_create_with_flags),
      answer("cudaEventDestroy", cuda_event_destroy),
      answer("cudaEventRecord", cuda_event_record),
      answer("cudaEventRecordWithFlags", cuda_event_record_with_flags),
      answer("cudaEventQuery", cuda_event_query),
      answer("cudaEventSynchronize", cuda_event_synchronize),
      answer("cudaEventElapsedTime", cuda_event_elapsed_time),
      answer("cudaEventElapsedTime_v2", cuda_event_elapsed_time),
      answer("cudaStreamIsCapturing", cuda_stream_is_capturing),
      answer("cudaStreamGetCaptureInfo", cuda_stream_get_capture_info),
      answer("cudaStreamGetCaptureInfo_v2", cuda_stream_get_capture_info_v2),
      answer("cudaStreamGetCaptureInfo_v3", cuda_stream_get_capture_info),
      answer("cudaStreamBeginCapture", cuda_stream_begin_capture),
      answer("cudaStreamEndCapture", cuda_stream_end_capture),
      answer("cudaGraphInstantiate", cuda_graph_instantiate),
      answer("cudaGraphInstantiateWithFlags", cuda_graph_instantiate),
      answer("cudaGraphDestroy", cuda_graph_destroy),
      answer("cudaGraphExecDestroy", cuda_graph_exec_destroy),
      answer("cudaGraphGetNodes", cuda_graph_get_nodes),
      answer("cudaGraphNodeGetDependencies", cuda_graph_node_get_dependencies),
  };
  return answers;
}

}  // namespace vramfit::standin
