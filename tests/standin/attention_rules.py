"""Which attention PyTorch 2.11 chooses."""

from cards import CARDS, MULTIPROCESSORS, On, Rule, divided_up, every

CUDNN, CUDNN_BACKWARD = "cudnn attention, forward", "cudnn attention, backward"
FLASH, SPLIT, FLASH_BACKWARD = "flash_fwd_kernel", "flash_fwd_splitkv_combine", "flash_bwd_dq_dk_dv"
SOFTMAX = "softmax_warp_forward"  # of what PyTorch calls math

# But where it is said otherwise.
BATCH, HEADS, LENGTH = 2, 8, 512
ROWS = BATCH * HEADS * LENGTH
FLASH_SEED = (
    16 + 8
)  # of dropout, there without dropout too: seed and offset, and one that is unused
SUMS = 4 * ROWS  # the logarithm of each row's sum, kept for backward
CUDNN_SEED = 8 + 8
# Of several queries, as read off an H200 (model/ops/cudnn_attention.h): no source tells it.
CUDNN_HELD = 256 + CUDNN_SEED


def splits(sm: int, rows: int, keys: int, width: int) -> int:
    """flash-attention's num_splits_heuristic(): the fewest splits of keys that keep nearly as many
    multiprocessors busy as the best would. `rows`: blocks of 64 queries, of all heads."""
    room = 2 * MULTIPROCESSORS[sm]
    if rows >= 0.8 * room:
        return 1
    parts = divided_up(keys, 256 if width <= 64 else 128 if width <= 128 else 64)
    efficiency = {}
    for n in range(1, min(128, room, parts) + 1):
        if n == 1 or divided_up(parts, n) != divided_up(parts, n - 1):
            waves = rows * n / room
            efficiency[n] = waves / divided_up(rows * n, room)
    return min(n for n, part in efficiency.items() if part >= 0.85 * max(efficiency.values()))


def flash(
    sm: int, width: int, *, heads: int = BATCH * HEADS, queries: int = LENGTH, keys: int = LENGTH
) -> On:
    """Sums and a random state, and of each split its sums and its result in fp32."""
    n = splits(sm, heads * divided_up(queries, 64), keys, width)
    rows, padded = (
        heads * queries,
        divided_up(width, 32) * 32 if width <= 128 else 64 * divided_up(width, 64),
    )
    parts = 4 * n * rows * (1 + padded) if n > 1 else 0
    return On(SPLIT if n > 1 else FLASH, 4 * rows + FLASH_SEED + parts)


def flash_backward(width: int, parts: int = 1) -> On:
    """dQ in fp32 and a sum for each row."""
    return On(FLASH_BACKWARD, 4 * ROWS * (parts * width + 1))


def cutlass(name: str, width: int, is_kept: bool = False) -> On:
    """What goes beyond registers has the result in fp32, where it is not that itself."""
    held = 4 * ROWS * width if "gmem" in name and "f32" not in name else 0
    return On(f"fmha_cutlassF_{name}", held + (SUMS if is_kept else 0))


def by_generation(make, width: int, old: str, new: str, **more) -> dict[int, On]:
    """One kernel for Turing, one from Ampere on."""
    return {sm: make(old if sm == 75 else new, width, **more) for sm in CARDS}


FLASH_ON = (
    "native/transformers/cuda/sdp_utils.cpp, priority_order and check_prefer_cudnn_attention: "
)
ATTENTION = (
    FLASH_ON + "cuDNN first where major is 9 or 10, else flash, which "
    "check_flash_attention_hardware_support wants sm_80 for, else memory-efficient; "
    "flash_attn/flash_api.cpp, set_params_splitkv; mem_eff_attention/kernels/cutlassF.h"
)
GRADS = (
    "sdp_utils.cpp, check_requires_grad_and_head_dim_gt192_constraints_on_sm86_89_or_120: of "
    "heads 193 to 224 wide flash has no backward on sm_86, 89 and 120; check_cudnn_tensor_shapes: "
    "beyond 128 wide cuDNN's on sm_90 alone"
)

RULES = [
    Rule(
        "attention, fp16, 64 wide",
        "attend(half, 64)",
        {
            **{sm: flash(sm, 64) for sm in CARDS},
            75: cutlass("f16_aligned_64x64_rf_sm75", 64),
            **dict.fromkeys((90, 100), On(CUDNN, CUDNN_HELD)),
        },
        ATTENTION,
    ),
    Rule(
        "attention, bf16, 64 wide",
        "attend(bf16, 64)",
        {
            **{sm: flash(sm, 64) for sm in CARDS},
            75: On(SOFTMAX, None),
            **dict.fromkeys((90, 100), On(CUDNN, CUDNN_HELD)),
        },
        "sdp_utils.cpp, can_use_mem_efficient_attention, check_dtypes_low_precision: bf16 from "
        "sm_80 on",
    ),
    Rule(
        "attention, fp16, 128 wide",
        "attend(half, 128)",
        {
            **{sm: flash(sm, 128) for sm in CARDS},
            75: cutlass("f16_aligned_32x128_rf_sm75", 128),
            **dict.fromkeys((90, 100), On(CUDNN, CUDNN_HELD)),
        },
        ATTENTION,
    ),
    Rule(
        "attention, fp16, 192 wide",
        "attend(half, 192)",
        {
            **{sm: flash(sm, 192) for sm in CARDS},
            75: cutlass("f16_aligned_32x128_gmem_sm75", 192),
            90: On(CUDNN, CUDNN_HELD),
        },
        GRADS,
    ),
    Rule(
        "attention, fp16, 200 wide, without gradients",
        "attend(half, 200)",
        {
            **{sm: flash(sm, 200) for sm in CARDS},
            75: cutlass("f16_aligned_32x128_gmem_sm75", 200),
            90: On(CUDNN, CUDNN_HELD),
        },
        GRADS,
    ),
    Rule(
        "attention, fp16, 200 wide, with gradients",
        "attend(half, 200, grad=True)",
        {
            **{
                sm: cutlass("f16_aligned_32x128_gmem_sm80", 200, is_kept=True)
                for sm in (86, 89, 120)
            },
            **{sm: flash(sm, 200) for sm in (80, 100)},
            75: cutlass("f16_aligned_32x128_gmem_sm75", 200, is_kept=True),
            90: On(CUDNN, CUDNN_HELD + SUMS),
        },
        GRADS,
    ),
    Rule(
        "attention, fp16, 256 wide, with gradients",
        "attend(half, 256, grad=True)",
        {
            **{sm: flash(sm, 256) for sm in CARDS},
            75: cutlass("f16_aligned_32x128_gmem_sm75", 256, is_kept=True),
            90: On(CUDNN, CUDNN_HELD + SUMS),
        },
        GRADS,
    ),
    Rule(
        "attention, fp16, 256 wide, with gradients and dropout",
        "attend(half, 256, grad=True, dropout_p=0.125)",
        {
            **{
                sm: cutlass("f16_aligned_32x128_gmem_sm80", 256, is_kept=True)
                for sm in (86, 89, 120)
            },
            **{sm: On(FLASH, None) for sm in (80, 100)},
            75: cutlass("f16_aligned_32x128_gmem_sm75", 256, is_kept=True),
            90: On(CUDNN, CUDNN_HELD + SUMS),
        },
        GRADS + "; with dropout neither the 225 to 256 wide; nor are keys split",
    ),
    Rule(
        "attention, fp16, 264 wide",
        "attend(half, 264)",
        by_generation(cutlass, 264, "f16_aligned_32x128_gmem_sm75", "f16_aligned_32x128_gmem_sm80"),
        "sdp_utils.cpp, check_head_dim_size_flash: 256 at most",
    ),
    Rule(
        "attention, fp32, 128 wide",
        "attend(fp32, 128)",
        by_generation(cutlass, 128, "f32_aligned_32x128_rf_sm75", "f32_aligned_64x128_rf_sm80"),
        "sdp_utils.cpp, check_dtypes_low_precision; mem_eff_attention/kernels/cutlassF.h",
    ),
    Rule(
        "attention, fp16, with a mask",
        "attend(half, 64, attn_mask=mask)",
        {
            **by_generation(cutlass, 64, "f16_aligned_64x64_rf_sm75", "f16_aligned_64x64_rf_sm80"),
            **dict.fromkeys((90, 100), On(CUDNN, CUDNN_HELD)),
        },
        "sdp_utils.cpp, check_for_attn_mask: none with flash",
    ),
    Rule(
        "attention, fp16, heads share keys by fours",
        "attend(half, 64, kv_heads=2, enable_gqa=True)",
        {
            **{sm: flash(sm, 64) for sm in CARDS},
            75: On(SOFTMAX, None),
            **dict.fromkeys((90, 100), On(CUDNN, CUDNN_HELD)),
        },
        "sdp_utils.cpp, can_use_mem_efficient_attention: supports_grouped_query_attention is false",
    ),
    Rule(
        "attention of one query and 8192 keys, fp16, 128 wide",
        "attend(half, 128, batch=1, queries=1, keys=8192)",
        {
            **{sm: flash(sm, 128, heads=HEADS, queries=1, keys=8192) for sm in CARDS},
            75: cutlass("f16_aligned_32x128_rf_sm75", 128),
            # 32 and more splits are wanted, which bit_ceil makes of 132 and of 148 alike.
            **dict.fromkeys(
                (90, 100), On(CUDNN, 32 * HEADS * (4 * 128 + 2 * 4) + 128 + CUDNN_SEED)
            ),
        },
        "flash_attn/flash_api.cpp, num_splits_heuristic: twice the multiprocessors are to be busy; "
        "model/ops/cudnn_attention.cpp",
    ),
    Rule(
        "attention's backward, fp16, 64 wide",
        "back(half, 64)",
        {
            **dict.fromkeys(CARDS, flash_backward(64)),
            75: On("fmha_cutlassB_f16_aligned_64x64_k64_sm75", None),
            **dict.fromkeys(
                (90, 100),
                On(CUDNN_BACKWARD, 4 * ROWS * (64 + 1) + 256),
            ),
        },
        "flash_attn/flash_api.cpp, mha_bwd: dq_accum, softmax_d; model/ops/cudnn_attention.cpp",
    ),
    Rule(
        "attention's backward, fp16, 64 wide, deterministic",
        "deterministic(lambda: back(half, 64))",
        {
            **{
                sm: flash_backward(64, divided_up(MULTIPROCESSORS[sm], BATCH * HEADS))
                for sm in CARDS
            },
            75: On("fmha_cutlassB_f16_aligned_64x64_k64_sm75", None),
        },
        "flash_attn/flash_api.cpp, mha_bwd: dQ for each split, nsplits = ceil(multiprocessors / "
        "(batch * heads)); sdp_utils.cpp, check_cudnn_deterministic",
    ),
    Rule(
        "attention's backward, fp32, 128 wide",
        "back(fp32, 128)",
        {
            **every("fmha_cutlassB_f32_aligned_128x64_k128_sm80", None),
            75: On("fmha_cutlassB_f32_aligned_64x64_k128_sm75", None),
            **dict.fromkeys((86, 89, 120), On("fmha_cutlassB_f32_aligned_64x64_k128_sm80", None)),
        },
        "native/transformers/cuda/attention_backward.cu: the first of mem_eff_attention/kernels/"
        "cutlassB.h that fits into a block's shared memory, which is 64 KiB on sm_75, 99 on these",
    ),
    Rule(
        "attention's backward, fp16, 96 wide, memory-efficient",
        "back(half, 96, attn_mask=mask)",
        {
            **every("fmha_cutlassB_f16_aligned_128x128_k128_seqaligned_sm80", None),
            75: On("fmha_cutlassB_f16_aligned_128x64_k128_sm75", None),
            **dict.fromkeys((86, 89), On("fmha_cutlassB_f16_aligned_128x64_k96_sm80", None)),
            120: On("fmha_cutlassB_f16_aligned_64x64_k128_seqaligned_sm80", None),
            **dict.fromkeys((90, 100), On(CUDNN_BACKWARD, None)),
        },
        "mem_eff_attention/kernels/cutlassB.h: the k96 kernel where cc is 86 or 89",
    ),
]
