// A program that was built for CUDA, as a library that a test loads.
extern "C" {
int cudaRuntimeGetVersion(int* version);
int cudaMalloc(void** pointer, unsigned long bytes);
int cudaNobodyKnowsThis(int number);

int program_version() {
  int version = 0;
  return cudaRuntimeGetVersion(&version) == 0 ? version : -1;
}
void* program_malloc(unsigned long bytes) {
  void* pointer = nullptr;
  return cudaMalloc(&pointer, bytes) == 0 ? pointer : nullptr;
}
int program_unknown(int number) { return cudaNobodyKnowsThis(number); }
}
