#include "standin/kernels/fatbin.h"

#include <algorithm>
#include <cstring>

namespace vramfit::standin {
namespace {

constexpr std::uint32_t kWrapperMagic = 0x466243b1;
constexpr std::uint32_t kMagic = 0xba55ed50;

struct Wrapper {
  std::uint32_t magic;
  std::uint32_t version;
  const void* fatbin;
  const void* more;
};

struct Header {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t header_bytes;
  std::uint64_t bytes;  ///< of the entries behind
};

/// An entry's beginning, as far as we read it.
struct Entry {
  std::uint16_t kind;  ///< 1 PTX, 2 a binary
  std::uint16_t version;
  std::uint32_t header_bytes;
  std::uint64_t bytes;  ///< behind the header
  std::uint32_t compressed_bytes;
  std::uint32_t options;
  std::uint16_t minor_version;
  std::uint16_t major_version;
  std::uint32_t arch;
};

}  // namespace

FatbinCode read_fatbin(const void* data) {
  FatbinCode code;
  if (!data) return code;
  Wrapper wrapper;
  std::memcpy(&wrapper, data, sizeof wrapper);
  const auto* at =
      static_cast<const std::byte*>(wrapper.magic == kWrapperMagic ? wrapper.fatbin : data);
  Header header;
  std::memcpy(&header, at, sizeof header);
  if (header.magic != kMagic) return code;
  at += header.header_bytes;
  for (const auto* end = at + header.bytes; at + sizeof(Entry) <= end;) {
    Entry entry;
    std::memcpy(&entry, at, sizeof entry);
    if (entry.header_bytes < sizeof entry) break;
    (entry.kind == 1 ? code.ptx : code.binaries).push_back(static_cast<int>(entry.arch));
    at += entry.header_bytes + entry.bytes;
  }
  return code;
}

int code_for(const FatbinCode& code, int sm) {
  int best = 0;
  for (const int arch : code.binaries) {
    if (arch / 10 == sm / 10 && arch <= sm) best = std::max(best, arch);
  }
  if (best != 0) return best;
  for (const int arch : code.ptx) {
    if (arch <= sm) best = std::max(best, arch);
  }
  return best;
}

}  // namespace vramfit::standin
