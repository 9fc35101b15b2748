#include "runtimes/pytorch/torch/memory/caching_allocator.h"

#include <algorithm>
#include <bit>

#include "model/errors.h"

namespace vramfit::pytorch {
namespace {

constexpr std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

/// round_size.
std::uint64_t block_bytes(std::uint64_t bytes) {
  return std::max(round_up(bytes, CachingAllocator::kMinBlockSize),
                  CachingAllocator::kMinBlockSize);
}

/// get_allocation_size.
std::uint64_t segment_bytes(std::uint64_t bytes) {
  if (bytes <= CachingAllocator::kSmallSize) return CachingAllocator::kSmallBuffer;
  if (bytes < CachingAllocator::kMinLargeAlloc) return CachingAllocator::kLargeBuffer;
  return round_up(bytes, CachingAllocator::kRoundLarge);
}

/// get_free_block: what may be given for so many bytes, where large blocks are not split.
std::uint64_t largest_given(std::uint64_t bytes, std::uint64_t max_split) {
  if (max_split == ~std::uint64_t{0}) return max_split;
  return bytes < max_split ? max_split - 1 : bytes + CachingAllocator::kLargeBuffer - 1;
}

/// should_split.
bool worth_splitting(bool small, std::uint64_t rest) {
  return small ? rest >= CachingAllocator::kMinBlockSize : rest > CachingAllocator::kSmallSize;
}

}  // namespace

std::size_t CachingAllocator::FreeList::bin_of(std::uint64_t bytes) {
  constexpr int kPartBits = 6;
  const std::uint64_t units = bytes / kMinBlockSize;
  const auto width = static_cast<int>(std::bit_width(units));
  const int dropped = std::max(width - kPartBits - 1, 0);
  return (static_cast<std::size_t>(dropped) << kPartBits) +
         static_cast<std::size_t>(units >> dropped);
}

std::size_t CachingAllocator::FreeList::filled_from(std::size_t bin) const {
  if (bin >= kBins) return kBins;
  std::size_t word = bin / 64;
  std::uint64_t bits = filled_[word] >> bin % 64 << bin % 64;
  while (bits == 0) {
    if (++word == filled_.size()) return kBins;
    bits = filled_[word];
  }
  return word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
}

void CachingAllocator::FreeList::insert(Node* node) {
  const std::size_t index = bin_of(node->bytes);
  Bin& bin = bins_[index];
  filled_[index / 64] |= std::uint64_t{1} << index % 64;
  // Where there are many, they mostly come in order, nearly, from one end or the other.
  Node* after = bin.first;
  Node* before = bin.last;
  while (after != nullptr && *after < *node && *node < *before) {
    after = after->after;
    before = before->before;
  }
  if (after != nullptr && *after < *node) {
    after = before->after;
  } else {
    before = after == nullptr ? nullptr : after->before;
  }
  node->before = before;
  node->after = after;
  (before == nullptr ? bin.first : before->after) = node;
  (after == nullptr ? bin.last : after->before) = node;
}

void CachingAllocator::FreeList::erase(Node* node) { erase(node, bin_of(node->bytes)); }

void CachingAllocator::FreeList::erase(Node* node, std::size_t index) {
  Bin& bin = bins_[index];
  (node->before == nullptr ? bin.first : node->before->after) = node->after;
  (node->after == nullptr ? bin.last : node->after->before) = node->before;
  if (bin.first == nullptr) filled_[index / 64] &= ~(std::uint64_t{1} << index % 64);
}

CachingAllocator::Node* CachingAllocator::FreeList::take(std::uint64_t bytes) {
  std::size_t index = bin_of(bytes);
  Node* node = bins_[index].first;
  while (node != nullptr && node->bytes < bytes) node = node->after;
  if (node == nullptr) {
    index = filled_from(index + 1);
    if (index == kBins) return nullptr;
    node = bins_[index].first;
  }
  erase(node, index);
  return node;
}

CachingAllocator::Node* CachingAllocator::FreeList::take(std::uint64_t bytes,
                                                         std::uint64_t at_most) {
  Node* node = take(bytes);
  if (node == nullptr || node->bytes <= at_most) return node;
  insert(node);
  return nullptr;
}

std::vector<CachingAllocator::Node*> CachingAllocator::FreeList::nodes() const {
  std::vector<Node*> all;
  for (std::size_t bin = filled_from(0); bin < kBins; bin = filled_from(bin + 1)) {
    for (Node* node = bins_[bin].first; node != nullptr; node = node->after) all.push_back(node);
  }
  return all;
}

CachingAllocator::Node* CachingAllocator::new_node() {
  if (!unused_nodes_.empty()) {
    Node* node = unused_nodes_.back();
    unused_nodes_.pop_back();
    const std::uint32_t index = node->index;
    *node = Node{};
    node->index = index;
    return node;
  }
  nodes_.emplace_back();
  nodes_.back().index = static_cast<std::uint32_t>(nodes_.size() - 1);
  return &nodes_.back();
}

CachingAllocator::Pools& CachingAllocator::pools(Stream stream) {
  if (stream == Stream::Default) return default_;
  std::unique_ptr<Pools>& other = others_[static_cast<std::size_t>(stream)];
  if (other == nullptr) other = std::make_unique<Pools>();
  return *other;
}

void CachingAllocator::load(DriverCode code) {
  if (code == DriverCode::FirstKernel && std::exchange(has_kernel_, true)) return;
  addresses_.load(code);
}

// alloc_block: null where the driver, or the limit that set_per_process_memory_fraction set, does
// not allow it.
CachingAllocator::Node* CachingAllocator::new_segment(std::uint64_t bytes, bool small) {
  if (bytes > capacity_ - reserved_) return nullptr;
  Node* node = new_node();
  node->offset = addresses_.take(bytes);
  node->bytes = bytes;
  node->small = small;
  node->stream = stream_;
  if (among_ == Among::Segments) node->segment = segments_++;
  reserved_ += bytes;
  peak_reserved_ = std::max(peak_reserved_, reserved_);
  if (segment_changes_++ == 0) load(DriverCode::FirstKernel);
  if (observer_) observer_(node->offset, static_cast<std::int64_t>(bytes));
  return node;
}

// malloc and alloc_found_block.
Block CachingAllocator::allocate(std::uint64_t requested, Placement /*placement*/) {
  const std::uint64_t bytes = block_bytes(requested);
  if (bytes > most_asked_ - asked_) throw OutOfMemory(requested, asked_, most_asked_);
  const bool small = bytes <= kSmallSize;
  Pools& own = pools(stream_);
  FreeList& free_blocks = small ? own.small : own.large;
  Node* node =
      free_blocks.take(bytes, small ? ~std::uint64_t{0} : largest_given(bytes, max_split_));
  if (node == nullptr) node = new_segment(segment_bytes(bytes), small);
  if (node == nullptr) {
    empty_cache();  // release_cached_blocks, and once more
    node = new_segment(segment_bytes(bytes), small);
  }
  if (node == nullptr) throw OutOfMemory(requested, reserved_, capacity_);

  if (worth_splitting(small, node->bytes - bytes) && (small || bytes < max_split_)) {
    Node* rest = new_node();
    rest->offset = node->offset + bytes;
    rest->bytes = node->bytes - bytes;
    rest->small = small;
    rest->stream = stream_;
    rest->segment = node->segment;
    rest->previous = node;
    rest->next = node->next;
    if (rest->next != nullptr) rest->next->previous = rest;
    node->next = rest;
    node->bytes = bytes;
    free_blocks.insert(rest);
  }
  node->in_use = true;
  node->asked = bytes;
  asked_ += bytes;
  allocated_ += node->bytes;
  return {node->offset, node->bytes, nullptr, node->index};
}

// try_merge_blocks with both neighbours: what remains is the lower one.
CachingAllocator::Node* CachingAllocator::merge(Node* node) {
  if (Node* next = node->next; next != nullptr && !next->in_use) {
    pool(*next).erase(next);
    node->bytes += next->bytes;
    node->next = next->next;
    if (node->next != nullptr) node->next->previous = node;
    unused_nodes_.push_back(next);
  }
  if (Node* previous = node->previous; previous != nullptr && !previous->in_use) {
    pool(*previous).erase(previous);
    previous->bytes += node->bytes;
    previous->next = node->next;
    if (previous->next != nullptr) previous->next->previous = previous;
    unused_nodes_.push_back(node);
    node = previous;
  }
  return node;
}

// free_block.
void CachingAllocator::free(const Block& block) noexcept {
  Node* node = &nodes_[block.handle];
  node->in_use = false;
  asked_ -= node->asked;
  allocated_ -= node->bytes;
  node = merge(node);
  pool(*node).insert(node);
}

// release_blocks: only whole segments can go.
void CachingAllocator::release_cached(FreeList& pool) {
  const std::vector<Node*> free_blocks = pool.nodes();
  for (Node* node : free_blocks) {
    if (node->previous != nullptr || node->next != nullptr) continue;
    pool.erase(node);
    reserved_ -= node->bytes;
    ++segment_changes_;
    addresses_.give(node->offset, node->bytes);
    if (observer_) observer_(node->offset, -static_cast<std::int64_t>(node->bytes));
    unused_nodes_.push_back(node);
  }
}

void CachingAllocator::empty_cache() {
  const auto release = [this](Pools& of) {
    release_cached(of.large);
    release_cached(of.small);
  };
  release(default_);
  for (const auto& other : others_) {
    if (other != nullptr) release(*other);
  }
}

std::vector<CachingAllocator::SegmentView> CachingAllocator::segments() const {
  std::vector<bool> live(nodes_.size(), true);
  for (const Node* node : unused_nodes_) live[node->index] = false;
  std::vector<SegmentView> result;
  for (const Node& head : nodes_) {
    if (!live[head.index] || head.previous != nullptr) continue;
    SegmentView segment{head.offset, 0, head.small, {}};
    for (const Node* node = &head; node != nullptr; node = node->next) {
      segment.bytes += node->bytes;
      segment.blocks.push_back({node->offset, node->bytes, node->in_use});
    }
    result.push_back(std::move(segment));
  }
  std::sort(result.begin(), result.end(),
            [](const SegmentView& a, const SegmentView& b) { return a.offset < b.offset; });
  return result;
}

}  // namespace vramfit::pytorch
