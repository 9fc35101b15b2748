"""An answer as SVG: a bar of the components, with the card's memory as a line."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from vramfit._card import CardAnswer

#: Of Okabe and Ito, told apart by colour-blind readers too.
COLOURS = {
    "parameters": "#0072b2",
    "gradients": "#56b4e9",
    "optimizer_state": "#009e73",
    "activations": "#e69f00",
    "kv_cache": "#cc79a7",
    "workspace": "#f0e442",
    "inputs": "#999999",
    "communication": "#d55e00",
    "gaps": "#cccccc",
    "overhead": "#666666",
}
VERDICTS = {"FITS": "#1a7f37", "TIGHT": "#9a6700", "OOM": "#cf222e"}
WIDTH, BAR, LINE = 640, 34, 18


def parts(card: CardAnswer) -> dict[str, int]:
    """What the total is made of, in bytes; gaps: what the allocator holds beyond tensors."""
    shown = {name: size for name, size in card.components.items() if size > 0}
    gaps = card.total - card.overhead - sum(card.components.values())
    if gaps > 0:
        shown["gaps"] = gaps
    return {**shown, "overhead": card.overhead}


def gigabytes(size: int) -> str:
    return f"{size / 1e9:.2f} GB"


def sentence(card: CardAnswer) -> str:
    """As a line: OOM: 2.14 GB more than the 25.76 GB of NVIDIA GeForce RTX 4090."""
    beyond = "to spare of" if card.margin >= 0 else "more than"
    left, vram = gigabytes(abs(card.margin)), gigabytes(card.vram)
    return f"{card.verdict}: {left} {beyond} the {vram} of {card.title}"


def _bar(card: CardAnswer) -> str:
    scale = (WIDTH - 2) / max(card.total, card.vram)
    at, drawn, legend = 1.0, [], []
    for row, (name, size) in enumerate(parts(card).items()):
        width = size * scale
        title = f"{name.replace('_', ' ')} {gigabytes(size)}"
        colour = COLOURS.get(name, "#000000")
        drawn.append(
            f'<rect x="{at:.2f}" y="24" width="{width:.2f}" height="{BAR}" fill="{colour}">'
            f"<title>{escape(title)}</title></rect>"
        )
        x, y = 1 + row % 3 * 210, 24 + BAR + 24 + row // 3 * LINE
        legend.append(
            f'<rect x="{x}" y="{y - 9}" width="10" height="10" fill="{colour}"/>'
            f'<text x="{x + 15}" y="{y}">{escape(title)}</text>'
        )
        at += width
    vram = 1 + card.vram * scale
    height = 24 + BAR + 24 + (len(legend) + 2) // 3 * LINE
    label = escape(sentence(card))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{label}" '
        f'width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        f'font-family="sans-serif" font-size="12" fill="currentColor">'
        f'<text x="1" y="14" font-weight="bold" fill="{VERDICTS[card.verdict]}">{label}</text>'
        f"{''.join(drawn)}"
        f'<line x1="{vram:.2f}" x2="{vram:.2f}" y1="19" y2="{24 + BAR + 5}" '
        f'stroke="currentColor" stroke-width="2"/>'
        f"{''.join(legend)}</svg>"
    )


def _table(cards: Sequence[CardAnswer]) -> str:
    rows = "".join(
        f"<tr><td>{escape(card.gpu or card.title)}</td><td>{gigabytes(card.vram)}</td>"
        f"<td>{gigabytes(card.total)}</td>"
        f'<td style="color:{VERDICTS[card.verdict]}">{card.verdict}</td></tr>'
        for card in cards
    )
    return f"<table><tr><th>card</th><th>VRAM</th><th>total</th><th>verdict</th></tr>{rows}</table>"


def html(cards: Sequence[CardAnswer], not_honoured: Sequence[str]) -> str:
    """The picture of one card, a table of several, with what was assumed below."""
    one = len(cards) == 1
    shown = _bar(cards[0]) if one else _table(cards)
    notes = cards[0].notes if one else ()
    lines = "".join(f"<li>{escape(note)}</li>" for note in (*notes, *not_honoured))
    return f"<div>{shown}{f'<ul>{lines}</ul>' if lines else ''}</div>"
