#pragma once

namespace vramfit::bench {

/// What `git describe --always --dirty` said when the program was built; "unknown" outside git.
extern const char* const kCommit;

}  // namespace vramfit::bench
