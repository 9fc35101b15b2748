"""The picture of how several GPUs scale."""

import dataclasses

from vramfit_plots.topics import scaling


def test_the_title_is_of_what_is_drawn(measured):
    """Of a pipeline's micro-batches those that are most are: what fewer do is not in the title."""
    [few] = [
        name
        for name in measured.rows.index
        if name.startswith("MultiGpu/llama2-7b/bf16/adamw-same/pipeline/batch:1/")
        and name.endswith("/gpus:2")
    ]
    rows = measured.rows.copy()
    rows.loc[few, "tokens_per_second"] /= 50
    slow = scaling.draw(dataclasses.replace(measured, rows=rows))
    assert slow.title == scaling.draw(measured).title
    assert slow.alt == scaling.draw(measured).alt
