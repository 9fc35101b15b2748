"""The text that the trained model of the report learns, as tokens: documentation, man pages and
source that Debian packages bring.

    PYTHONPATH=scripts python -m corpus --out build/corpus

Downloads the packages that data/quality/corpus.json names, takes their plain text, leaves out what
was said before, trains a byte-level BPE on it and writes what it makes of train, held-out and the
slice that no training of the whole model sees: .u16 files of tokens, 0 between documents. Says what
it wrote as JSON; --check holds that against the recipe's SHA-256. Wants apt, dpkg, and a Python
with numpy and tokenizers.
"""

import argparse
import hashlib
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from programs import ROOT, Arguments, BadInputError, file_or_folder, program, read_json, writing

try:
    import numpy as np
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
except ImportError as missing:
    sys.exit(f"corpus: {sys.executable} has no {missing.name}; one with numpy and tokenizers")

from corpus.choice import Unsaid, is_held_out, rank, up_to
from corpus.packages import documents, fetch

_RECIPE = ROOT / "data" / "quality" / "corpus.json"
_END = "<|endoftext|>"
_AT_ONCE = 1000  # documents
Document = tuple[str, str]


def _gather(packages: Iterable[dict[str, Any]], debs: Path, unsaid: Unsaid) -> list[Document]:
    """In an order that mixes packages."""
    found: list[Document] = []
    for package in packages:
        every = documents(package, fetch(package, debs))
        chosen = up_to(every, package.get("most", 1 << 40))
        print(f"{package['name']}: {len(chosen)} documents", file=sys.stderr)
        found += chosen
    found.sort(key=lambda document: rank(document[0]))
    return [(name, unsaid.of(text)) for name, text in found]


def _train(texts: Sequence[str], vocabulary: int) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[_END],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def _encode(tokenizer: Tokenizer, texts: Sequence[str]) -> np.ndarray:
    """Of all texts, each behind a 0."""
    parts = []
    for first in range(0, len(texts), _AT_ONCE):
        for found in tokenizer.encode_batch(list(texts[first : first + _AT_ONCE])):
            parts.append(np.array([0, *found.ids], dtype=np.uint16))
    return np.concatenate(parts)


def _split(found: Sequence[Document], per_mille: int) -> dict[bool, list[str]]:
    texts: dict[bool, list[str]] = {False: [], True: []}
    for name, text in found:
        texts[is_held_out(name, per_mille)].append(text)
    return texts


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = Arguments(prog="corpus", description=__doc__)
    parser.add_argument("--recipe", type=Path, default=_RECIPE)
    parser.add_argument("--debs", type=Path, help="a folder of packages (OUT/debs)")
    parser.add_argument("--out", type=file_or_folder, default=ROOT / "build" / "corpus")
    parser.add_argument("--check", action="store_true", help="hold the tokens against the recipe")
    return parser.parse_args(argv)


def make(recipe: dict[str, Any], debs: Path, out: Path) -> dict[str, Any]:
    """Writes the files and says what they are."""
    unsaid = Unsaid()
    whole = _split(_gather(recipe["packages"], debs, unsaid), recipe["held_out_per_mille"])
    part = _split(_gather(recipe["slice"], debs, unsaid), recipe["slice_held_out_per_mille"])
    sample = [text for n, text in enumerate(whole[False]) if n % recipe["sample"] == 0]
    tokenizer = _train(sample, recipe["vocabulary"])
    tokenizer.save(str(out / "tokenizer.json"))
    made: dict[str, Any] = {}
    for name, texts in (
        ("train", whole[False]),
        ("held_out", whole[True]),
        ("slice_train", part[False]),
        ("slice_held_out", part[True]),
    ):
        tokens = _encode(tokenizer, texts)[: recipe["most_tokens"]]
        content = tokens.tobytes()
        (out / f"{name}.u16").write_bytes(content)
        made[name] = {
            "documents": len(texts),
            "characters": sum(map(len, texts)),
            "tokens": len(tokens),
            "sha256": hashlib.sha256(content).hexdigest(),
        }
    return made


@program("corpus")
def main(argv: Sequence[str] | None = None) -> int:
    given = _arguments(argv)
    recipe = read_json(given.recipe)
    debs = given.debs or given.out / "debs"
    with writing():
        debs.mkdir(parents=True, exist_ok=True)
        given.out.mkdir(parents=True, exist_ok=True)
        made = make(recipe, debs, given.out)
    print(json.dumps(made, indent=2))
    for name, facts in made.items() if given.check else ():
        if facts["sha256"] != recipe["made"][name]["sha256"]:
            raise BadInputError(f"{name}: other tokens than the recipe's; another tokenizers?")
    return 0


if __name__ == "__main__":
    sys.exit(main())
