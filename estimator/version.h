#pragma once

namespace vramfit {

/// What `git describe --always --dirty` said when the program was built; "unknown" outside git.
extern const char* const kCommit;

/// What `--version` prints: "vramfit 0.3.0 (<commit>)", the version as CMake's project() has it.
extern const char* const kVersionLine;

}  // namespace vramfit
