#pragma once

#include <string>
#include <vector>

namespace vramfit::standin {

/// How a GPU is told from the others of its machine: "GPU-01000000-…" for the first.
std::string uuid_text(int number);

/// The GPUs of a machine that CUDA_VISIBLE_DEVICES leaves a program, by their numbers and in its
/// order: those before the first entry that names none, or one again. Null leaves all `count`.
std::vector<int> visible_devices(const char* variable, int count);

}  // namespace vramfit::standin
