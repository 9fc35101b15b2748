"""What kinds of KV cache take, and waste."""

from vramfit_plots.captions import caption, said
from vramfit_plots.errors import AbsentError
from vramfit_plots.inputs import Inputs
from vramfit_plots.kv_caches import load_kv_caches
from vramfit_plots.tables.table import Table
from vramfit_plots.units import gb, number, percent, times


def build(inputs: Inputs) -> list[Table]:
    try:
        found = load_kv_caches(inputs)
    except AbsentError:
        return []
    caches = found.of_shortest()
    rows = [
        [
            cache.stored_in,
            cache.blocks,
            cache.prompts,
            number(cache.bytes_per_token, 0),
            gb(cache.bytes, 2),
            gb(cache.waste, 2),
            percent(cache.waste / cache.bytes, 1, signed=False),
        ]
        for cache in caches
    ]
    first = caches[0]
    return [
        Table(
            key="kv_caches",
            title="The KV cache by kind",
            headings=[
                "keys and\nvalues in",
                "blocks",
                "prompts",
                "a token\nB",
                "cache\nGB",
                "unfilled\nGB",
                "unfilled",
            ],
            rows=rows,
            caption=caption(
                inputs,
                found.pattern,
                f"Of {found.model}, {times(first.batch, f'{first.positions:,}').strip()} positions "
                f"at most, {said(inputs, found.source)}. Unfilled are positions of the cache that "
                "no sequence comes to. Unequal prompts have 1/batch, 2/batch, … of the longest's; "
                "one block a sequence has room for the longest, blocks of a few positions are "
                "found through a table and end with the sequence. 8 bits have an fp32 scale a "
                "position and head.",
            ),
        )
    ]
