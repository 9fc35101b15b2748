#pragma once

#include <cstdint>
#include <filesystem>

namespace vramfit {

/// Bytes of the host's memory that this process could still have: what the kernel thinks is to be
/// had without swapping, within what the control groups the process is in leave it. 0 where nobody
/// says. `root`: of the file system, for tests.
std::uint64_t available_host_memory(const std::filesystem::path& root = "/");

}  // namespace vramfit
