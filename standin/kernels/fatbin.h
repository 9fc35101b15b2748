#pragma once

#include <cstdint>
#include <vector>

namespace vramfit::standin {

/// The architectures a fatbin has code for, as sm times 10: {75, 80, 90}.
struct FatbinCode {
  std::vector<int> binaries;
  std::vector<int> ptx;  ///< compiled as a module is loaded
};

/// Of what nvcc gives to __cudaRegisterFatBinary, or cuModuleLoadData. Nothing where it is no
/// fatbin.
FatbinCode read_fatbin(const void* data);

/// What a card of `sm` would run of it: the newest binary of its generation that is not newer than
/// it, or else the newest such PTX; 0 where there is neither.
int code_for(const FatbinCode& code, int sm);

}  // namespace vramfit::standin
