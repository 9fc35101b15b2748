"""Which products, reductions, sorts and optimizers PyTorch 2.11 chooses."""

from cards import CARDS, MULTIPROCESSORS, NONE, THREADS, On, Rule, divided_up, every

# L2's bytes, of NVIDIA's whitepapers.
L2 = {
    sm: mib << 20 for sm, mib in {75: 4, 80: 40, 86: 6, 89: 72, 90: 60, 100: 126, 120: 96}.items()
}

MiB = 1 << 20
GROUPS = 8
SMALL_BLAS, LARGE_BLAS = 2 * 4 * MiB + 8 * 16 * 1024, 8 * 4 * MiB

products = [
    Rule(
        "the first product of cuBLAS's",
        "kept(lambda: new(64, 64) @ new(64, 64))",
        {**every(NONE, SMALL_BLAS), 90: On(NONE, LARGE_BLAS)},
        "cuda/CublasHandlePool.cpp, parseChosenWorkspaceSize: :4096:8 where the capability is 9.0 "
        "and :4096:2:16:8 elsewhere; releases after 2.11 ask for major 9, 10 or 12",
    ),
    Rule(
        "the first of cuBLASLt's",
        "kept(lambda: F.linear(new(64, 64), new(64, 64), new(64)))",
        every(NONE, MiB),
        "cuda/CublasHandlePool.cpp, parseCUDABlasLtWorkspaceSize: 1024 KiB on every card",
    ),
    Rule(
        "a grouped product in bf16",
        "grouped(bf16)",
        {
            **every(NONE, 0),
            90: On("GemmUniversal", MULTIPROCESSORS[90] * 4 * 128 + GROUPS * 60),
            100: On("GemmUniversal", None),
        },
        "native/cuda/Blas.cpp, _grouped_mm_cuda: CUTLASS's where _scaled_mm_allowed_device("
        "sm90_only, sm100_only), a loop of products elsewhere; cuda/GroupMM.cu: of a group three "
        "addresses, strides and sizes, and of each multiprocessor four descriptors of 128 bytes",
    ),
    Rule(
        "a grouped product in fp16",
        "grouped(half)",
        every(NONE, 0),
        "native/cuda/Blas.cpp, _grouped_mm_cuda: a loop of products where it is not bf16",
    ),
    Rule(
        "a product in fp8",
        "fp8()",
        {
            **every(NONE, 0),
            **dict.fromkeys((75, 80, 86), On(NONE, None, "compute capability >= 9.0 or 8.9")),
        },
        "native/cuda/Blas.cpp, _scaled_mm_allowed_device",
    ),
]


def reduction(sm: int, values: int, bytes_each: int) -> On:
    """One result of so many values: native/cuda/Reduce.cuh, setReduceConfig, of 512 threads."""
    per_thread = values // 512
    busy = MULTIPROCESSORS[sm] * (THREADS[sm] // 512)
    shared_by = max(min(busy, divided_up(per_thread, 16)), divided_up(per_thread, 256))
    return On("reduce_kernel", bytes_each * shared_by + 4)


def cub(*sizes: int) -> int:
    """What CUB asks for, to align each of several: util_temporary_storage.cuh, AliasTemporaries."""
    return sum(256 * divided_up(size, 256) for size in sizes) + 255


def top_k(sm: int, values: int) -> On:
    """TensorTopK.cu, mbtopk: a block of 256 threads counts digits of so many values a thread that
    six blocks a multiprocessor take them all, and a scan by key of CUB's goes over blocks."""
    each = min(max(divided_up(values, MULTIPROCESSORS[sm] * 6 * 256), 4), 64)
    n = divided_up(values, 256 * each)
    of_slice = 4 + 2 * 4 + 2 * 4 + 4 * 256
    scan_by_key = cub(33 * 16, 4)  # a tile and 32 beside it; the tile's first key
    return On("mbtopk::gatherTopK", of_slice + (2 * 256 + 4 + 4) * n + scan_by_key)


def count(sm: int) -> On:
    """cub::DeviceReduce: five times as many blocks of 256 threads as run at once leave a sum."""
    busy = MULTIPROCESSORS[sm] * (THREADS[sm] // 256)
    return On("DeviceReduceKernel", cub(4 * 5 * busy) + 4)


others = [
    Rule(
        "a sum of 2^24 values",
        "run(torch.sum, new(1 << 24, dtype=fp32))",
        {sm: reduction(sm, 1 << 24, 4) for sm in CARDS},
        "include/ATen/native/cuda/Reduce.cuh, setReduceConfig: multiProcessorCount * "
        "maxThreadsPerMultiProcessor / threads of a block",
    ),
    Rule(
        "an argmax of 2^24 values",
        "run(torch.argmax, new(1 << 24, dtype=fp32))",
        {sm: reduction(sm, 1 << 24, 16) for sm in CARDS},
        "the same, of a value and its index",
    ),
    Rule(
        "the largest of 2^20 values",
        "run(lambda a: a.topk(8), new(1 << 20, dtype=fp32))",
        {sm: top_k(sm, 1 << 20) for sm in CARDS},
        "native/cuda/TensorTopK.cu, get_items_per_thread: multiProcessorCount, "
        "regsPerMultiprocessor, maxBlocksPerMultiProcessor",
    ),
    Rule(
        "where 2^16 values are not zero",
        "run(torch.nonzero, torch.zeros(1 << 16, dtype=torch.bool, device='cuda'))",
        {sm: count(sm) for sm in CARDS},
        "native/cuda/Nonzero.cu; cub/device/dispatch/dispatch_reduce.cuh: sm_occupancy * "
        "multiprocessors * subscription factor 5",
    ),
    Rule(
        "AdamW, fused",
        "adamw(fused=True)",
        every("multi_tensor_apply_kernel", 0),
        "include/ATen/native/cuda/MultiTensorApply.cuh: no rule asks the card",
    ),
    Rule(
        "bf16",
        "torch.cuda.is_bf16_supported(including_emulation=False) or refuse('no bf16')",
        {**every(NONE, None), 75: On(NONE, None, "no bf16")},
        "torch/cuda/__init__.py, is_bf16_supported: major 8 and above",
    ),
    Rule(
        "transformers' experts",
        "experts() or refuse('its own loop')",
        {**every(NONE, None), 75: On(NONE, None, "its own loop")},
        "transformers/integrations/moe.py, _can_use_grouped_mm: sm_80 and above",
    ),
    Rule(
        "code that Triton compiles",
        "run(torch.compile(lambda x: x.exp() + 1), new(4096, dtype=fp32))",
        {sm: On("triton_poi_fused", L2[sm]) for sm in CARDS},
        "torch/_inductor/runtime/benchmarking.py, benchmark_gpu: a buffer of L2_cache_size while "
        "configurations are timed",
    ),
    Rule(
        "code that Triton compiles, bf16",
        "run(torch.compile(lambda x: x.exp() + 1), new(4096, dtype=bf16))",
        {
            **{sm: On("triton_poi_fused", L2[sm]) for sm in CARDS},
            75: On("exp_kernel_cuda", 2 * 4096),
        },
        "torch/_inductor/compile_fx.py, _check_triton_bf16_support: runs eager where there is none",
    ),
]

RULES = [*products, *others]
