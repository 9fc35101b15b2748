// What `fit` uses of libnvidia-ml.so.1, answering as FAKE_GPU says: "NAME|BYTES|MAJOR|MINOR", or,
// where that is not set, that there is no driver. FAKE_GPU_USED: bytes that processes have of it.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

constexpr int kNotFound = 9;

std::vector<std::string> gpu() {
  const char* text = std::getenv("FAKE_GPU");
  std::vector<std::string> parts;
  std::string rest = text == nullptr ? "" : text;
  for (std::size_t at = 0; !rest.empty() && at != std::string::npos;) {
    at = rest.find('|');
    parts.push_back(rest.substr(0, at));
    rest = at == std::string::npos ? "" : rest.substr(at + 1);
  }
  return parts;
}

struct Memory2 {
  unsigned version;
  unsigned long long total;
  unsigned long long reserved;
  unsigned long long free;
  unsigned long long used;
};

struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

}  // namespace

// Named as NVML names them.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {

int nvmlInit_v2();
int nvmlShutdown();
int nvmlDeviceGetCount_v2(unsigned* count);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device);
int nvmlDeviceGetName(void* device, char* name, unsigned length);
int nvmlDeviceGetMemoryInfo(void* device, Memory* memory);
int nvmlDeviceGetMemoryInfo_v2(void* device, Memory2* memory);
int nvmlDeviceGetCudaComputeCapability(void* device, int* major, int* minor);
int nvmlSystemGetDriverVersion(char* version, unsigned length);

int nvmlInit_v2() { return gpu().empty() ? kNotFound : 0; }

int nvmlShutdown() { return 0; }

int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = nullptr;
  return index == 0 ? 0 : kNotFound;
}

int nvmlDeviceGetName(void*, char* name, unsigned length) {
  std::snprintf(name, length, "%s", gpu().at(0).c_str());
  return 0;
}

int nvmlDeviceGetMemoryInfo(void*, Memory* memory) {
  *memory = {std::stoull(gpu().at(1)), 0, 0};
  return 0;
}

int nvmlDeviceGetMemoryInfo_v2(void*, Memory2* memory) {
  const char* used = std::getenv("FAKE_GPU_USED");
  if (used == nullptr || memory->version != (sizeof(Memory2) | 2U << 24U)) return kNotFound;
  memory->used = std::stoull(used);
  return 0;
}

int nvmlDeviceGetCudaComputeCapability(void*, int* major, int* minor) {
  *major = std::stoi(gpu().at(2));
  *minor = std::stoi(gpu().at(3));
  return 0;
}

int nvmlSystemGetDriverVersion(char* version, unsigned length) {
  std::snprintf(version, length, "999.88");
  return 0;
}
}
// NOLINTEND(readability-identifier-naming)
