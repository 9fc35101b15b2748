#pragma once

#include <cstdint>

namespace vramfit::standin {

class Machine;

/// Values are kept of copies up to so many bytes: masks, positions, labels, counts. Larger ones are
/// weights and activations, of which nothing is read.
constexpr std::uint64_t kSmall = std::uint64_t{8} << 20;

/// A copy between any two of host and GPUs. Where it is small the bytes are copied, and what is
/// known of them; of a large one towards a GPU nothing is known afterwards, and of one towards the
/// host nothing is written: pages that nobody wrote are not committed.
void copy(Machine& machine, void* to, const void* from, std::uint64_t bytes);

/// Whether copies of the calling thread look at bytes at all, which they do at first. Those that do
/// not are as large ones are.
void look_at_copies(bool look);

/// cudaMemset.
void fill(Machine& machine, void* to, int value, std::uint64_t bytes);

/// What the host read without knowing it: copies of unknown bytes, by how many.
std::uint64_t unknown_reads();
void note_unknown_read();

/// The next copy from a GPU to the host gives this number, and zeros behind it, by the calling
/// thread and in the order of calls, until no_more_reads(): counts that a kernel would have
/// written, and that what follows is sized by.
void next_read(std::int64_t value);
void no_more_reads();

/// Whether there are numbers that no read has taken yet.
bool is_read_expected();

}  // namespace vramfit::standin
