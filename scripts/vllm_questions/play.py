"""Draws starts and makes each with this Python's vLLM, in a process forked for it.

usage: play.py SEED FIRST COUNT STRIDE CARD OUT.jsonl

Of a seed's questions, from number FIRST on below COUNT, each STRIDE-th. `vramfit run` has it play
on a GPU that is not there. A question gives a line as it ends: what was asked, and what vLLM
counted and made of the rest, or its refusal.
"""

import json
import os
import random
import shutil
import signal
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

LIMIT = 400  # seconds a question
_SETTINGS = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_USE_FLASHINFER_SAMPLER": "0",
    "VLLM_USE_DEEP_GEMM": "0",
}


def _load():
    """What every start imports, before the forks: once. Of each of Triton's kernels two ways are
    tried, which takes as much memory as trying all of them."""
    import triton

    tuned = triton.autotune
    triton.autotune = lambda configs, *given, **named: tuned(configs[:2], *given, **named)
    from vllm.model_executor.models.llama_eagle3 import Eagle3LlamaForCausalLM

    # Of a checkpoint it would see that the head is there; dummy weights have none to look into.
    Eagle3LlamaForCausalLM.has_own_lm_head = True
    from vllm.model_executor.models import registry

    registry._run_in_subprocess = lambda function: function()
    import vllm.v1.core.kv_cache_utils
    import vllm.v1.engine.core
    import vllm.v1.worker.gpu.model_runner
    import vllm.v1.worker.gpu_model_runner
    import vllm.v1.worker.gpu_worker  # noqa: F401


def _attended(told):
    """Until its cache is there, of what is left then is nothing asked."""
    from vllm.v1.core import kv_cache_utils
    from vllm.v1.worker.gpu_worker import Worker

    profiles = Worker.determine_available_memory

    def profile(self):
        available = profiles(self)
        told["runner"] = "V2" if self.use_v2_model_runner else "V1"
        told["weights"] = int(self.model_runner.model_memory_usage)
        if self.cache_config.kv_cache_memory_bytes is None:
            told["counted"] = {
                "weights": told["weights"],
                "activations": int(self.peak_activation_memory),
                "outside_torch": int(self.non_torch_memory),
                "graphs": int(self.cudagraph_memory_estimate),
            }
        return available

    def cached(self, cache):
        told["blocks"] = cache.num_blocks
        told["length"] = self.vllm_config.model_config.max_model_len
        _, told["concurrency"] = kv_cache_utils.get_kv_cache_capacity(self.vllm_config, cache)
        raise _MadeError

    Worker.determine_available_memory = profile
    Worker.initialize_from_config = cached


class _MadeError(BaseException):
    """Its cache would be made now."""


def _start(question, folder, answer):
    """In the forked process."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    import torch
    from vllm import LLM

    # It has a context from the process that it was forked from: nothing was put into it there.
    torch.cuda._is_in_bad_fork = lambda: False
    signal.alarm(LIMIT)
    told = {}
    _attended(told)
    from vllm_questions.answers import written

    engine = written(question, Path(folder))
    os.environ["VLLM_CACHE_ROOT"] = str(Path(folder, "cache"))
    try:
        LLM(model=folder, load_format="dummy", skip_tokenizer_init=True, **engine)
    except _MadeError:
        pass
    except ModuleNotFoundError as error:
        told["failed"] = str(error)  # this Python's, and no refusal of vLLM's
    except Exception as error:
        said = " ".join(str(error).replace(folder, "MODEL").split())
        told["refusal"] = f"{type(error).__name__}: {said}"[:400]
    answer.write_text(json.dumps(told))


def _forget_trials():
    """Of Triton's kernels, so that each start tries them as a first one does."""
    for file in Path(os.environ["TRITON_CACHE_DIR"]).glob("**/*.autotune.json"):
        file.unlink()


def _played(question):
    _forget_trials()
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder, "answer.json")
        child = os.fork()
        if child == 0:
            try:
                _start(question, folder, answer)
            finally:
                os._exit(1)
        os.waitpid(child, 0)
        told = json.loads(answer.read_text()) if answer.exists() else {"failed": "ended"}
        shutil.rmtree(Path(folder, "cache"), ignore_errors=True)
    return told


def main(seed, numbers, card, out):
    os.environ.update(_SETTINGS)
    os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp(prefix="vramfit-triton-")
    _load()
    import torch

    from vllm_questions.dice import question

    torch.set_num_threads(1)  # OpenMP's do not survive a fork
    for number in numbers:
        asked = question(card, random.Random(f"{seed}.{number}"))
        out.write(json.dumps({"question": f"{seed}.{number}", **asked, **_played(asked)}) + "\n")
        out.flush()
    shutil.rmtree(os.environ["TRITON_CACHE_DIR"], ignore_errors=True)
    torch.zeros(1, device="cuda")  # so that `vramfit run` has something to tell


if __name__ == "__main__":
    with Path(sys.argv[6]).open("a") as file:
        main(sys.argv[1], range(*map(int, sys.argv[2:5])), sys.argv[5], file)
