#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "model/memory/category.h"
#include "model/memory/driver_code.h"
#include "model/memory/name.h"

namespace vramfit::pytorch {

/// Of no layer: embeddings, the head, what all layers share.
inline constexpr int kNoLayer = -1;

/// The CUDA stream that a block is allocated on, whose blocks alone are reused there.
enum class Stream : std::uint8_t {
  Default,
  AllGatherCopyIn,  ///< FSDP2's
  ReduceScatter,    ///< FSDP2's
};
/// PyTorch's pool of them; those of recorded runs have numbers only.
inline constexpr std::size_t kStreams = 32;

/// PyTorch's tensors have no names.
inline constexpr Name kTensor = "a tensor";

/// How often each layer of the model that is played takes what a layer that is walked takes once.
using Times = std::vector<std::int64_t>;

/// One thing that a model asks for.
struct Act {
  enum class Kind : std::uint8_t {
    BeginStage,
    EndStage,
    Allocate,
    AllocateOnce,    ///< unless some layer did
    AllocateToStay,  ///< for good: not after the first step
    Free,
    Relabel,
    Replace,  ///< a second block, in a layer that took it no times, by this one
    EmptyCache,
    UseLibraries,
    UseManaged,
  };
  Kind kind = Kind::Allocate;
  Stage stage{};
  Category category{};  ///< of the block
  Category to{};        ///< Relabel
  bool of_layer = false;
  Stream stream{};    ///< Allocate
  DriverCode code{};  ///< UseLibraries: the latest
  std::uint16_t times =
      0;  ///< of allocations: which of its visit's, from 1; 0: each layer takes it once
  /// The visit that allocated the block: its place, and where a layer did, how many layers that is
  /// above this one.
  std::int32_t place = 0;
  std::uint32_t slot = 0;    ///< of that visit
  std::uint32_t second = 0;  ///< Replace: that one's slot, of the visit whose act this is
  /// As asked for; of UseLibraries, all that is loaded.
  std::uint64_t bytes = 0;
  Name name = kTensor;  ///< of allocations: its layer, where it has one, counts from the visit's

  friend bool operator==(const Act&, const Act&) = default;
};

/// Acts one after another of one layer, or of none.
struct Visit {
  int layer = kNoLayer;
  /// Visits of one pass through the layers, up or down, share it: a number for each layer from here
  /// on is theirs.
  std::int32_t place = 0;
  std::uint32_t first = 0;  ///< of its acts
  std::uint32_t last = 0;   ///< behind them
  std::uint32_t slots = 0;  ///< for what it allocates; those of what it frees itself are used again
  std::uint32_t times = 0;  ///< the first of its own
};

struct Recording {
  std::vector<Act> acts;
  std::vector<Visit> visits;
  std::vector<Times> times;
  std::vector<std::int32_t> once;  ///< places of blocks for all layers, of a slot each
  /// Layers touch only blocks of their own, of the layers beside them, and of none.
  bool local = true;
};

/// What a model asks of its allocator, in order. Nothing of it depends on what the allocator
/// answers, so a tape can be played on any, as often as is needed (Playback).
class Tape {
 public:
  /// A block, by who asked for it.
  struct Origin {
    int layer;
    std::int32_t place;
    std::uint32_t slot;
  };

  /// `layers`: of the model that it is played for, which may be deeper than the one that is walked.
  explicit Tape(std::int64_t layers) : layers_(static_cast<std::int32_t>(layers)) {}

  void begin_stage(Stage stage);
  void end_stage();
  Origin allocate(Category category, std::uint64_t bytes, const Name& name = kTensor);
  void free(const Origin& block, Category category, std::uint64_t bytes);
  void relabel(const Origin& block, Category from, Category to, std::uint64_t bytes);
  /// In a layer that took `second` no times, `by` is what it means from now on. This visit
  /// allocated `second`.
  void replace(const Origin& second, const Origin& by);
  void empty_cache();
  void use_libraries(DriverCode code, std::uint64_t bytes);
  /// So much more lies in managed memory, for good.
  void use_managed(std::uint64_t bytes);

  std::uint64_t allocations() const { return allocations_; }  ///< so far
  /// Acts since the last call of take().
  std::size_t acts() const { return recording_.acts.size(); }
  /// The most bytes at once so far, as asked for and of the layers that are walked.
  std::uint64_t peak() const { return peak_; }

  /// What was recorded since the last call.
  Recording take();

  /// Whatever is allocated meanwhile, each layer takes so many times. They do not nest.
  class TimesScope {
   public:
    /// Without any, each layer does as this one.
    TimesScope(Tape& tape, const std::optional<Times>& times);
    ~TimesScope() { tape_.times_ = 0; }
    TimesScope(const TimesScope&) = delete;
    TimesScope& operator=(const TimesScope&) = delete;

   private:
    Tape& tape_;
  };

  /// Of a block for all layers: the first that comes to it takes it, unless it is one that does so
  /// no times. Later ones say so by take_once(), too.
  Origin allocate_once(Category category, std::uint64_t bytes);
  void take_once(const Origin& block, Category category, std::uint64_t bytes);
  /// Whether layers may come to what follows no times.
  bool in_times() const { return times_ != 0; }
  /// Unless all layers come to what follows, the recording says nothing of those left out.
  void need_each_layer() { recording_.local &= !in_times(); }

  /// Whose acts follow. What goes while no layer acts is its own layer's.
  int layer = kNoLayer;
  /// torch.cuda.current_stream()
  Stream stream = Stream::Default;

 private:
  Visit& visit(int of);
  Act& on(Act::Kind kind, const Origin& block, Category category, std::uint64_t bytes);
  Act& add(Visit& to, const Act& act);

  std::int32_t layers_;
  std::int32_t next_place_ = 0;
  std::vector<std::uint32_t> free_slots_;  ///< of the last visit
  std::uint16_t times_ = 0;                ///< of what is allocated
  int direction_ = 0;                      ///< up or down the layers; 0: one visit does not tell
  Recording recording_;
  std::uint64_t allocations_ = 0;
  std::uint64_t live_ = 0;  ///< bytes
  std::uint64_t peak_ = 0;
};

}  // namespace vramfit::pytorch
