#pragma once

#include <cstdint>
#include <string_view>

namespace vramfit::pytorch {

/// When cuBLAS has memory of PyTorch's allocator: aten/src/ATen/cuda/CublasHandlePool.cpp.
enum class Workspaces : std::uint8_t {
  Kept,    ///< a thread's handle keeps one from its first product on, cuBLASLt one of its own
  Shared,  ///< the same, and cuBLASLt gets the handle's (unified_cublas_and_lt_workspaces)
  OfCalls  ///< a product has one while it runs (CUDABlasHandleWithWorkspace)
};

/// What PyTorch does otherwise from one release to another: a fact each, which a rule asks for by
/// its name. As it stands here it is of the release that was measured, 2.11; what others have is
/// their row of release_rules.cpp.
struct ReleaseRules {
  Workspaces workspaces = Workspaces::Kept;
  /// parseChosenWorkspaceSize: 32 MiB on Blackwell as on Hopper.
  bool large_workspaces_on_blackwell = false;
  /// CUDACachingAllocator.cpp, BlockComparatorSize: of free blocks of one size that of the oldest
  /// segment is taken first; else the one at the lowest address (pytorch#183591).
  bool oldest_segment_first = false;
  /// torch/_native/ops/bmm_outer_product: a stack of columns by rows, as the rotary embedding's
  /// angles are, is a kernel of Triton's and no product of cuBLAS's.
  bool outer_products_by_triton = false;
  /// Blas.cpp: a whole matrix in 16 bits is added by cuBLASLt, as a row is. Read off calls.
  bool lt_adds_matrices = false;
  /// sdp_utils.cpp, can_use_mem_efficient_attention: takes keys that several queries share.
  bool efficient_takes_groups = false;
  /// The same with a mask alone that wants a gradient keeps its rows' sums.
  bool efficient_sums_for_masks = false;
  /// can_use_cudnn_attention: widths are what cuDNN has for forward alone, or for backward as well;
  /// else one limit of a card's.
  bool cudnn_widths_by_direction = false;
  /// attention.cu, _efficient_attention_forward: dropout's seed and offset are on the GPU, drawn or
  /// not.
  bool efficient_seeds_on_gpu = false;
  /// ReduceLogicKernel.cu: what blocks of any and all hand each other is a bool; else an input.
  bool logic_of_bools = false;
  /// Indexing.cu, computeLinearIndex: an index's largest and smallest are both there before either
  /// is compared.
  bool extremes_together = false;
  /// Embedding.cu, embedding_dense_backward_cuda: tokens are sorted by as many bits as the table
  /// has; else by all 64.
  bool sorts_few_bits = false;
  /// EmbeddingBackwardKernel.cu: few rows of many parts each are added up where they belong.
  bool sums_few_rows_in_place = true;
  /// cub's ScanTileState::AllocationSize, of CCCL 3 in CUDA 13: states that fit into a word are
  /// laid out as parts of their own are; else they ask for what they are.
  bool cub_lays_out_words = true;
  /// FunctionsManual's maximum and minimum: which of two arguments is computed first.
  bool extremum_masks_first = false;
  /// Bytes of CUTLASS's workspace for each multiprocessor in a grouped product, on Hopper and on
  /// Blackwell: GroupMM.cu. Read off the workspaces.
  std::int64_t grouped_mm_on_hopper = 512;
  std::int64_t grouped_mm_on_blackwell = 512;
};

/// Of a release by its name, as data/releases.json has it; null: nobody derived them.
const ReleaseRules* rules_of(std::string_view release);

}  // namespace vramfit::pytorch
