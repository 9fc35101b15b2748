#pragma once

namespace vramfit {

/// A GPU's compute capability, 10 · major + minor: 90 is sm_90. Workspaces depend on it.
struct Arch {
  int sm = 0;  ///< 0: nobody said, and no rule has an answer
};

}  // namespace vramfit
