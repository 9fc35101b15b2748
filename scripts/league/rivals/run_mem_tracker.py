"""What torch.distributed's MemTracker says of steps on FakeTensors, by the functions that measured
the cases (data/reference/measure_pytorch.py): nothing is allocated, and PyTorch's own Python is
enough, which has to have CUDA's libraries.

usage: run_mem_tracker.py CASES.json OUT.json [PROCESSES]

Cases are `{"key", "case", "batch", "seq"}`; of generation one of a single token, which is a pass
over the prompt. Said is the tracker's peak of tensors on the card."""

import importlib
import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

_REFERENCE = Path(__file__).resolve().parents[3] / "data" / "reference"


def _peak(asked):
    import torch  # noqa: PLC0415  in the child, whose CUDA it is
    from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: PLC0415
    from torch.distributed._tools.mem_tracker import MemTracker  # noqa: PLC0415

    sys.path.insert(0, str(_REFERENCE))
    measure = importlib.import_module("measure_pytorch")
    torch.set_num_threads(1)
    torch.cuda.init()
    case, batch, seq = asked["case"], asked["batch"], asked["seq"]
    with FakeTensorMode():
        model, config = measure.build(case)
        tracker = MemTracker()
        ids = measure.random_tokens(config, batch, seq)
        if case["mode"] == "train":
            optimizer = measure.prepare_training(model, case)
            tracker.track_external(model, optimizer, ids)
            with tracker:
                for _ in range(2):
                    measure.train_step(model, optimizer, ids, case)
                    tracker.reset_mod_stats()  # the peak stays
        else:
            model.eval()
            tracker.track_external(model, ids)
            with tracker, torch.no_grad():
                model(ids, use_cache=True, logits_to_keep=1)
        found = tracker.get_tracker_snapshot("peak")
    return max(parts["Total"] for device, parts in found.items() if device.type == "cuda")


def _said(asked):
    begun = time.perf_counter()
    try:
        return asked["key"], _peak(asked), time.perf_counter() - begun
    except Exception as error:  # of whatever PyTorch makes of it
        print(f"{asked['key']}: {error}", file=sys.stderr)
        return asked["key"], None, 0.0


def main():
    cases = json.loads(Path(sys.argv[1]).read_text())
    with ProcessPoolExecutor(int(sys.argv[3]) if len(sys.argv) > 3 else 1) as pool:
        found = [one for one in pool.map(_said, cases) if one[1] is not None]
    seconds = sorted(one[2] for one in found)
    told = {"said": {key: peak for key, peak, _ in found}, "seconds": seconds[len(seconds) // 2]}
    Path(sys.argv[2]).write_text(json.dumps(told))


if __name__ == "__main__":
    main()
