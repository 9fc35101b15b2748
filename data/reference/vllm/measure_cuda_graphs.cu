// Which instantiated CUDA graph takes more of the card, by kernels a graph and bytes of their
// arguments: a line of cuda_graphs.jsonl. nvcc -std=c++17 -arch=native measure_cuda_graphs.cu;
// a.out ARGUMENTS NODES GRAPHS [KIND [FLAGS]]
#include <cuda_runtime.h>
#include <sys/types.h>

#include <cstdio>
#include <cstdlib>
#include <vector>
#define OK(x)                                                           \
  do {                                                                  \
    cudaError_t err_ = (x);                                             \
    if (err_ != cudaSuccess) {                                          \
      printf("error %s line %d\n", cudaGetErrorString(err_), __LINE__); \
      exit(1);                                                          \
    }                                                                   \
  } while (0)
template <int S>
struct P {
  char c[S];
};
template <int S>
__global__ void k(P<S> p, int* o) {
  if (o) *o = p.c[S - 1];
}
size_t used() {
  size_t f, t;
  OK(cudaDeviceSynchronize());
  OK(cudaMemGetInfo(&f, &t));
  return t - f;
}
char* buffer;
template <int S>
void node(cudaStream_t s, int kind) {
  if (kind == 0)
    k<S><<<1, 1, 0, s>>>(P<S>(), nullptr);
  else if (kind == 1)
    OK(cudaMemsetAsync(buffer, 0, 4096, s));
  else
    OK(cudaMemcpyAsync(buffer, buffer + 8192, 4096, cudaMemcpyDeviceToDevice, s));
}
template <int S>
void go(int nodes, int count, int kind, int flags) {
  cudaStream_t s;
  OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  node<S>(s, kind);
  OK(cudaStreamSynchronize(s));
  std::vector<cudaGraphExec_t> all;
  size_t last = used(), first = last;
  printf("{\"kind\":%d,\"params\":%d,\"nodes\":%d,\"count\":%d,\"flags\":%d,\"grows\":[", kind,
         S + 8, nodes, count, flags);
  bool any = false;
  for (int i = 0; i < count; ++i) {
    cudaGraph_t g;
    cudaGraphExec_t e;
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    for (int n = 0; n < nodes; ++n) node<S>(s, kind);
    OK(cudaStreamEndCapture(s, &g));
    OK(cudaGraphInstantiate(&e, g, (unsigned long long)flags));
    OK(cudaGraphDestroy(g));
    all.push_back(e);
    size_t now = used();
    if (now != last) {
      printf("%s[%d,%zu]", any ? "," : "", i + 1, now - last);
      any = true;
      last = now;
    }
  }
  size_t before = used();
  for (auto e : all) OK(cudaGraphLaunch(e, s));
  size_t launched = used();
  for (auto e : all) OK(cudaGraphExecDestroy(e));
  printf("],\"total\":%zu,\"by_launch\":%zd,\"by_destroy\":%zd}\n", before - first,
         (ssize_t)(launched - before), (ssize_t)(used() - launched));
  fflush(stdout);
  OK(cudaStreamDestroy(s));
}
int main(int argc, char** argv) {
  int S = atoi(argv[1]), nodes = atoi(argv[2]), count = atoi(argv[3]),
      kind = argc > 4 ? atoi(argv[4]) : 0, flags = argc > 5 ? atoi(argv[5]) : 1;
  OK(cudaMalloc(&buffer, 1 << 20));
  switch (S) {
    case 8:
      go<8>(nodes, count, kind, flags);
      break;
    case 64:
      go<64>(nodes, count, kind, flags);
      break;
    case 128:
      go<128>(nodes, count, kind, flags);
      break;
    case 248:
      go<248>(nodes, count, kind, flags);
      break;
    case 504:
      go<504>(nodes, count, kind, flags);
      break;
    case 1016:
      go<1016>(nodes, count, kind, flags);
      break;
    case 2040:
      go<2040>(nodes, count, kind, flags);
      break;
    case 1080:
      go<1080>(nodes, count, kind, flags);
      break;
    case 1272:
      go<1272>(nodes, count, kind, flags);
      break;
    case 1528:
      go<1528>(nodes, count, kind, flags);
      break;
    case 1784:
      go<1784>(nodes, count, kind, flags);
      break;
    case 2296:
      go<2296>(nodes, count, kind, flags);
      break;
    case 2552:
      go<2552>(nodes, count, kind, flags);
      break;
    case 3064:
      go<3064>(nodes, count, kind, flags);
      break;
    case 3576:
      go<3576>(nodes, count, kind, flags);
      break;
    case 4000:
      go<4000>(nodes, count, kind, flags);
      break;
  }
}
