"""Ops of PyTorch's that NVIDIA's math libraries compute: none meets what lay in memory."""

import pytest
from stood_in import needs_torch, play

pytestmark = needs_torch

BEGIN = """
import json, warnings, torch
warnings.simplefilter("ignore")
linalg, gpu = torch.linalg, {"device": "cuda"}
torch.full((1 << 20,), 1e30, **gpu)  # what lies where the allocator reuses it
matrix, batch = torch.randn(64, 64, **gpu), torch.randn(8, 64, 64, **gpu)
torch.cuda.synchronize()
"""
END = """
report = standin.door().report()
names = [call["name"] for call in report["unknown_calls"] if call["as_zero"]]
others = [call["name"] for call in report["unknown_calls"] if not call["as_zero"]]
from vramfit.standin._values import assumptions
print(json.dumps([names, others, [told["what"] for told in assumptions()],
                  torch.cuda.max_memory_allocated()]))
"""


def ops(script) -> tuple:
    """What was taken to be 0, what else was not known, assumptions, and the peak."""
    return play(BEGIN + script + END)


def test_factorizations_succeed():
    zero, others, assumed, peak = ops("""
for each in matrix, batch, matrix.to(torch.complex64):
    linalg.cholesky(each), linalg.qr(each), linalg.svd(each), linalg.eigh(each), linalg.inv(each)
    linalg.solve(each, each), linalg.det(each), linalg.slogdet(each), linalg.lu(each)
    linalg.eigvals(each), linalg.ldl_factor(each), linalg.pinv(each), linalg.matrix_norm(each, 2)
    linalg.lstsq(each, each)
""")
    assert "cusolverDnXgeqrf_bufferSize" in zero
    assert others == []
    assert any("factorized" in what for what in assumed)
    assert peak < 100 << 20


def test_a_matrix_that_is_known_is_factorized_on_the_host():
    script = "right = linalg.inv(torch.eye(2, **gpu) * 4)[0, 0].item() == 0.25; assert right"
    assert ops(script)[2] == []


def test_a_singular_matrix_is_singular():
    ops("""
try:
    linalg.inv(torch.zeros(2, 2, **gpu))
except linalg.LinAlgError as error:
    refused = str(error)
assert "singular" in refused
""")


def test_transforms():
    zero, others, _, _ = ops("""
sound, window = torch.randn(2, 16000, **gpu), torch.hann_window(400, **gpu)
torch.fft.irfft(torch.fft.rfft(matrix)), torch.fft.fft2(matrix)
torch.stft(sound, 400, window=window, return_complex=True)
""")
    assert (zero, others) == (["cufftXtMakePlanMany"], [])


def test_sparse_tensors():
    zero, others, _, peak = ops("""
assert (torch.ones(1024, 1024).to_sparse() * 2).values()[0].item() == 2  # of the host
sparse, rows = matrix.to_sparse(), matrix.to_sparse_csr()
torch.sparse.mm(sparse, matrix), torch.sparse.mm(sparse, sparse), rows @ matrix, rows + rows
torch.sparse_coo_tensor(torch.tensor([[0, 1], [1, 0]]), torch.ones(2), (4, 4)).cuda().coalesce()
assert (matrix * 2).shape == (64, 64)
""")
    assert "cusparseSpMM_bufferSize" in zero
    assert others == []
    assert peak < 100 << 20


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_recurrent_networks_are_pytorchs_own(kind):
    script = f"""
model = torch.nn.{kind}(64, 128, num_layers=2, dropout=0.5).cuda()
out, _ = model(torch.randn(10, 4, 64, **gpu))
out.sum().backward()
assert out.shape == (10, 4, 128) and torch.backends.cudnn.enabled
"""
    zero, others, assumed, _ = ops(script)
    assert (zero, others) == ([], [])
    assert any("RNNs" in what for what in assumed)


def test_batch_norms_are_named():
    zero, others, _, peak = ops("""
model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8)).cuda()
model(torch.randn(2, 3, 64, 64, **gpu)).sum().backward()
""")
    assert zero and all("BatchNormalization" in name for name in zero)
    assert others == []
    assert peak < 100 << 20


CONVOLUTION = """
import torch
gpu = {"device": "cuda", "dtype": torch.bfloat16}
model = torch.nn.Conv2d(256, 128, 3, padding=1, bias=False, **gpu)
x = torch.empty(1, 256, 512, 512, **gpu)
out = torch.empty(1, 128, 512, 512, **gpu)
def taken(model, x):
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    with torch.no_grad():
        model(x)
    return torch.cuda.max_memory_allocated() - before - out.nbytes
"""


def test_convolutions_work_in_copies_with_channels_last():
    told = play(
        CONVOLUTION
        + """
last = {"memory_format": torch.channels_last}
print(json.dumps([taken(model, x), taken(model.to(**last), x.to(**last))]))
"""
    )
    copies = 2 * (256 * 512 * 512 + 128 * 512 * 512 + 128 * 256 * 9)
    assert told == [copies + 512, 0]


def test_where_memory_runs_out_a_convolution_works_in_nothing():
    """By cuDNN's fallback, as PyTorch does: aten/src/ATen/native/cudnn/Conv_v8.cpp, try_configs."""
    told = play(
        CONVOLUTION
        + """
free, _ = torch.cuda.mem_get_info()
rest = torch.empty(free - out.nbytes - (64 << 20), dtype=torch.uint8, device="cuda")
print(json.dumps(taken(model, x)))
"""
    )
    assert told == 0


def test_cudnn_is_of_the_release_that_torch_wants():
    script = """
import json, torch
wanted = list(torch._C._cudnn.getCompileVersion())
told = list(torch._C._cudnn.getRuntimeVersion())
standin.door().tell_cudnn_version(9, 31, 2)
print(json.dumps([wanted == told, torch._C._cudnn.getRuntimeVersion()]))
"""
    assert play(script) == [True, [9, 31, 2]]
