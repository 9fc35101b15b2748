"""Row names as `bench` writes them: "Training/llama2-7b/fp16/adamw/batch:4/seq:512"."""

from dataclasses import dataclass


@dataclass(frozen=True)
class RowName:
    family: str
    model: str
    precision: str
    optimizer: str  # "" for those that do not train
    axes: dict[str, str]  # key:value, in the name's order

    def number(self, key: str) -> int:
        return int(self.axes[key])


def parse(name: str) -> RowName:
    family, *rest = name.split("/")
    positional = [part for part in rest if ":" not in part]
    model, precision, optimizer, *_ = [*positional, "", "", ""]
    axes = dict(part.split(":", 1) for part in rest if ":" in part)
    return RowName(family, model, precision, optimizer, axes)
