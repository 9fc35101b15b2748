#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "model/memory/allocator.h"
#include "model/memory/driver_addresses.h"
#include "runtimes/pytorch/torch/memory/tape.h"

namespace vramfit::pytorch {

/// PyTorch's CUDA caching allocator, with its default settings (no expandable
/// segments, no limit on splitting, no garbage collection): segments from the driver are split into
/// blocks, which are reused and merged but not given back before memory runs out. A segment belongs
/// to the stream it was taken on, and so do its blocks.
///
/// Follows c10/cuda/CUDACachingAllocator.cpp (DeviceCachingAllocator), PyTorch 2.11, and where told
/// 2.13.
class CachingAllocator final : public Allocator {
 public:
  // Its constants, by the names they have there.
  static constexpr std::uint64_t kMinBlockSize = 512;
  static constexpr std::uint64_t kSmallSize = std::uint64_t{1} << 20;
  static constexpr std::uint64_t kSmallBuffer = std::uint64_t{2} << 20;
  static constexpr std::uint64_t kMinLargeAlloc = std::uint64_t{10} << 20;
  static constexpr std::uint64_t kLargeBuffer = std::uint64_t{20} << 20;
  static constexpr std::uint64_t kRoundLarge = std::uint64_t{2} << 20;

  /// Of free blocks that are as large, which is taken.
  enum class Among : std::uint8_t {
    Addresses,  ///< the lowest
    Segments    ///< one of the segment that was taken from the driver first; there the lowest
  };

  /// `capacity`: bytes that segments may take together.
  explicit CachingAllocator(std::uint64_t capacity = ~std::uint64_t{0},
                            Among among = Among::Addresses)
      : capacity_(capacity), among_(among) {}

  /// A block of at least `bytes` bytes; its size, which PyTorch counts as allocated, is what was
  /// found: rounded up, and with a rest too small to be split off. Throws OutOfMemory.
  Block allocate(std::uint64_t bytes, Placement placement = Placement::BestFit) override;
  void free(const Block& block) noexcept override;

  /// Blocks of so many bytes and more are not split from now on, nor are they given for smaller
  /// requests: max_split_size_mb.
  void set_max_split(std::uint64_t bytes) { max_split_ = bytes; }

  /// Throws OutOfMemory, too, where more than so many bytes were asked for that were not given
  /// back: no way to place them needs less.
  void set_most_asked(std::uint64_t bytes) { most_asked_ = bytes; }

  /// What is allocated from now on is on this stream.
  void use(Stream stream) { stream_ = stream; }

  std::uint64_t allocated() const { return allocated_; }
  std::uint64_t reserved() const override { return reserved_; }
  std::uint64_t peak_reserved() const { return peak_reserved_; }
  /// How often a segment was taken or given back.
  std::uint64_t segment_changes() const { return segment_changes_; }

  /// torch.cuda.empty_cache(): gives back the segments of which nothing is in use.
  void empty_cache() override;
  /// The first segment has the first kernel, unless one is loaded before.
  void load(DriverCode code) override;

  /// A block as a memory snapshot shows it.
  struct BlockView {
    std::uint64_t offset;
    std::uint64_t bytes;
    bool in_use;
  };
  struct SegmentView {
    std::uint64_t offset;
    std::uint64_t bytes;
    bool small;
    std::vector<BlockView> blocks;
  };
  /// All segments by address, for tests.
  std::vector<SegmentView> segments() const;

  /// Told of every segment taken (bytes > 0) and given back (bytes < 0).
  using SegmentObserver = std::function<void(std::uint64_t offset, std::int64_t bytes)>;
  void set_segment_observer(SegmentObserver observer) { observer_ = std::move(observer); }

 private:
  struct Node {
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::uint64_t asked = 0;  ///< of what is in use: but for a rest too small to be split off
    bool in_use = false;
    bool small = false;
    Stream stream = Stream::Default;
    Node* previous = nullptr;  ///< neighbours within the segment
    Node* next = nullptr;
    Node* before = nullptr;  ///< neighbours within its bin of free blocks
    Node* after = nullptr;
    std::uint32_t index = 0;
    std::uint32_t segment = 0;  ///< how many were taken before its own, where that decides

    bool operator<(const Node& other) const {
      if (bytes != other.bytes) return bytes < other.bytes;
      return segment != other.segment ? segment < other.segment : offset < other.offset;
    }
  };
  /// Free blocks of one pool, by size and then by what `among_` says (BlockComparatorSize). They
  /// are tens at a time, and hundreds in deep models, so that a bin for a 64th of each power of two
  /// seldom holds more than a few.
  class FreeList {
   public:
    void insert(Node* node);
    void erase(Node* node);
    /// Takes out the smallest of at least `bytes`, the first among equals; null: there is none.
    Node* take(std::uint64_t bytes);
    /// The same, unless it is larger than that.
    Node* take(std::uint64_t bytes, std::uint64_t at_most);
    std::vector<Node*> nodes() const;

   private:
    struct Bin {
      Node* first = nullptr;
      Node* last = nullptr;
    };
    static constexpr std::size_t kBins = 3264;
    static std::size_t bin_of(std::uint64_t bytes);
    void erase(Node* node, std::size_t bin);
    /// The first bin from this one on that holds any; kBins: none.
    std::size_t filled_from(std::size_t bin) const;

    std::array<Bin, kBins> bins_;
    std::array<std::uint64_t, kBins / 64> filled_{};  ///< a bit for each bin
  };

  struct Pools {
    FreeList small;
    FreeList large;
  };

  /// A stream's, made when it is first used.
  Pools& pools(Stream stream);
  FreeList& pool(const Node& node) {
    Pools& own = pools(node.stream);
    return node.small ? own.small : own.large;
  }
  Node* new_node();
  Node* new_segment(std::uint64_t bytes, bool small);
  void release_cached(FreeList& pool);
  Node* merge(Node* node);

  std::uint64_t capacity_;
  Among among_;
  std::uint32_t segments_ = 0;  ///< that were ever taken
  std::uint64_t max_split_ = ~std::uint64_t{0};
  std::uint64_t most_asked_ = ~std::uint64_t{0};
  std::uint64_t asked_ = 0;
  std::uint64_t allocated_ = 0;
  std::uint64_t reserved_ = 0;
  std::uint64_t peak_reserved_ = 0;
  std::uint64_t segment_changes_ = 0;
  bool has_kernel_ = false;
  DriverAddresses addresses_;
  Stream stream_ = Stream::Default;
  Pools default_;
  std::array<std::unique_ptr<Pools>, kStreams> others_;  ///< by stream; none: unused so far
  std::deque<Node> nodes_;
  std::vector<Node*> unused_nodes_;
  SegmentObserver observer_;
};

}  // namespace vramfit::pytorch
