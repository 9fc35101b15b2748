"""The module's types: a program that uses them, the answer's schema, and the module itself."""

import json
import re
import shutil
import subprocess

import pytest
from page import ROOT, SITE

_USED = """import { type Advice, type Answer, BadInput, load } from './vramfit.mjs';

const vramfit = await load();
const answer: Answer = vramfit.ask({ model: 'llama2-7b', train: true, batch: 4, advise: true },
  (soFar) => console.log(soFar.advice?.length));
const advice: Advice | undefined = answer.advice?.[0];
const bytes: number | undefined = answer.levels?.reserved;
const words: string[] = [advice?.flags ?? '', ...(answer.fits_on ?? [])];
try {
  vramfit.json({ batch: 'many' });
} catch (error) {
  if (error instanceof BadInput) console.log(error.message, bytes, words);
}
"""


def test_typescript_takes_the_types(tmp_path):
    if shutil.which("tsc") is None:
        pytest.skip("needs TypeScript's tsc")
    for file in ("vramfit.mjs", "vramfit.d.mts"):
        shutil.copy(SITE / file, tmp_path)

    def check(script):
        (tmp_path / "used.mts").write_text(script)
        options = ["--noEmit", "--strict", "--target", "es2022", "--module", "nodenext"]
        return subprocess.run(
            ["tsc", *options, "used.mts"], cwd=tmp_path, capture_output=True, text=True, check=False
        )

    assert check(_USED).stdout == ""
    assert "'slowest'" in check(_USED.replace("advice?.flags", "advice?.slowest")).stdout


_CASES = ("then", "else", "items")


def _paths(tree, within=""):
    """A tree of names, each as "levels.host"."""
    for name, part in tree.items():
        yield within + name
        yield from _paths(part, f"{within}{name}.")


def _merged(*trees):
    found = {}
    for name, part in (item for tree in trees for item in tree.items()):
        found[name] = _merged(found.get(name, {}), part)
    return found


def _of_schema(node, schema):
    """The tree of keys that an object may have, or each of an array; in whichever of its cases."""
    named = schema
    for step in node.get("$ref", "#").split("/")[1:]:
        named = named[step]
    parts = [*node.get("oneOf", []), *(node[key] for key in _CASES if key in node)]
    own = {name: _of_schema(part, schema) for name, part in node.get("properties", {}).items()}
    referred = _of_schema(named, schema) if "$ref" in node else {}
    return _merged(own, referred, *(_of_schema(part, schema) for part in parts))


_INTERFACE = re.compile(r"^export interface (\w+)(?: extends (.+?))? \{\n(.*?)^\}", re.M | re.S)
# A member's type may hold an object, which holds none itself; "[key: string]" is no member.
_MEMBER = re.compile(r"(?<!\[)\b(\w+)\??: ((?:[^;{]|\{[^}]*\})+)(?:;|$)")


def _of_type(text, interfaces):
    """The same of what a type says: an interface's name or an object's members, in whatever they
    are wrapped."""
    trees = [_of_members(body, interfaces) for body in re.findall(r"\{(.*?)\}", text, re.DOTALL)]
    named = [interfaces[name] for name in re.findall(r"\w+", text) if name in interfaces]
    return _merged(*trees, *(_of_interface(*parts, interfaces) for parts in named))


def _of_members(body, interfaces):
    return {name: _of_type(kind, interfaces) for name, kind in _MEMBER.findall(body)}


def _of_interface(base, body, interfaces):
    return _merged(_of_type(base, interfaces), _of_members(body, interfaces))


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("Answer", "#"),
        ("Asked", "#/$defs/asked"),
        ("AskedOfLlamaCpp", "#/$defs/asked_of_llama_cpp"),
        ("AskedOfVllm", "#/$defs/asked_of_vllm"),
        ("AskedOfTape", "#/$defs/asked_of_a_tape"),
        ("Serving", "#/$defs/serving"),
        ("OnCard", "#/$defs/verdict"),
        ("Stage", "#/$defs/stage"),
        ("Advice", "#/$defs/advice"),
    ],
)
def test_a_type_has_the_keys_of_its_part_of_the_schema(name, part):
    types = (SITE / "vramfit.d.mts").read_text()
    types = re.sub(r"/\*\*.*?\*/", "", types, flags=re.DOTALL)
    interfaces = {one: (base, body) for one, base, body in _INTERFACE.findall(types)}
    schema = json.loads((ROOT / "docs/schemas/fit.schema.json").read_text())
    node = schema if part == "#" else {"$ref": part}
    typed = _of_interface(*interfaces[name], interfaces)
    assert sorted(_paths(typed)) == sorted(_paths(_of_schema(node, schema)))


def test_types_and_module_name_the_same():
    types = (SITE / "vramfit.d.mts").read_text()
    module = (SITE / "vramfit.mjs").read_text()
    body = types[types.index("export class Vramfit") :]
    declared = set(re.findall(r"^  (?:readonly )?(\w+)[(:]", body, re.MULTILINE)) - {"source"}
    written = module[module.index("export class Vramfit") :]
    defined = set(re.findall(r"^  (?:get )?(\w+)\(.*\{$", written, re.MULTILINE))
    assert declared == defined
    assert set(
        re.findall(r"^export (?:async )?(?:class|function) (\w+)", module, re.MULTILINE)
    ) == set(re.findall(r"^export (?:class|function) (\w+)", types, re.MULTILINE))
