"""Record which keys a config.json of each family can have, by transformers.

Of each family that is read here (model/config/families.cpp): the fields of its config class, what
that writes beside them, the names it takes for others, and what modeling_<family>.py asks a config
for. Beside them the parameters of generation, which transformers takes out of every config. Needs
transformers alone, no PyTorch. tests/model/config/keys_test.cpp finds those that
model/config/key_table.cpp does not have.

usage: record_config_keys.py OUT.json
"""

import dataclasses
import json
import re
import sys
from importlib.util import find_spec
from pathlib import Path

import transformers
from transformers import GenerationConfig
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

ROOT = Path(__file__).resolve().parent.parent
READER = re.compile(r'^ +\{"(\w+)", read_\w+', re.MULTILINE)
ASKED = re.compile(r'\bconfig\.([a-z]\w*)\b(?!\()|getattr\((?:self\.)?config, "(\w+)"')


def families() -> list[str]:
    return READER.findall((ROOT / "model" / "config" / "families.cpp").read_text())


def asked_by_model(config_class: type) -> set[str]:
    module = config_class.__module__.replace("configuration_", "modeling_")
    text = Path(find_spec(module).origin).read_text()
    return {plain or with_default for plain, with_default in ASKED.findall(text)}


def keys_of(family: str) -> list[str]:
    config_class = CONFIG_MAPPING[family]
    fields = {field.name for field in dataclasses.fields(config_class)}
    written = set(config_class().to_dict())
    return sorted(fields | written | set(config_class.attribute_map) | asked_by_model(config_class))


def main(arguments: list[str]) -> None:
    if len(arguments) != 1:
        sys.exit(__doc__)
    recorded = {
        "transformers": transformers.__version__,
        "families": {family: keys_of(family) for family in families()},
        "generation": sorted(GenerationConfig._get_default_generation_params()),
    }
    Path(arguments[0]).write_text(json.dumps(recorded, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
