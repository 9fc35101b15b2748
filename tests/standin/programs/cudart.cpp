// What a program is linked against: names alone.
extern "C" {
int cudaRuntimeGetVersion(int* version) { return version == nullptr; }
int cudaMalloc(void** pointer, unsigned long bytes) { return !pointer && bytes == 0; }
int cudaNobodyKnowsThis(int number) { return number; }
}
