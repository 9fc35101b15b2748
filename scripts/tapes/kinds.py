"""How a config says which layer is of which kind."""

from itertools import combinations

from points import KINDS
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

_NO_LAYERS = (
    "token_id",
    "token_index",
    "shared_experts",
    "experts_per_tok",
    "heads",
    "experts",
    "topk",
    "moe_k",
    "group",
)

_SHARED = "num_kv_shared_layers"  # that use keys and values of layers before


def rule_of(names, config):
    """A line of the tape for these layers. Raises ValueError where no rule of ours says it."""
    config.allow_global_per_layer_attribute_access = True
    lists = _lists(config, len(names))
    if len(set(names)) == 1:
        told = [(key, values) for key, values in lists.items() if key in KINDS]
        # What a list could have beside is of another kind, which was not recorded.
        return _by(*zip(*told, strict=True), names) if told else f"kinds {names[0]}"
    counts = {
        key: value
        for key, value in sorted(config.to_dict().items())
        if type(value) is int and 0 < value <= len(names) and not key.endswith(_NO_LAYERS)
    }
    shared = {key: value for key, value in config.to_dict().items() if key == _SHARED}
    rule = (
        _by_lists(lists, names)
        or _by_count(counts, names)
        or _by_several(lists, counts, names, shared)
    )
    if rule is None:
        raise ValueError(f"layers are of kinds {''.join(names)}, and no key says which")
    return rule


def _by_lists(lists, names):
    of_kinds = [(key, values) for key, values in lists.items() if key in KINDS]
    if of_kinds and (rule := _by(*zip(*of_kinds, strict=True), names)):
        return rule
    others = ((key, values) for key, values in lists.items() if key not in KINDS)
    return next((rule for key, values in others if (rule := _by([key], [values], names))), None)


def _by_count(counts, names):
    for key, value in counts.items():
        if len(set(names[:value])) == len(set(names[value:])) == 1:
            return f"kinds below {key} {names[0]} {names[-1]}"
    for key, value in counts.items():
        told = {bool((place + 1) % value): name for place, name in enumerate(names)}
        if value > 1 and names == [told[bool((place + 1) % value)] for place in range(len(names))]:
            return f"kinds every {key} {told[True]} {told[False]}"
    return None


def _by_several(lists, counts, names, shared):
    """`<KEY`: 1 of the first so many, else 0. `%KEY`: of each so-manieth. `>KEY`: of the last so
    many, which `shared` names; `^KEY`: of the last of each kind before them. `+KEY`: of those whose
    fraction is above 0."""
    columns = [
        (f"+{key}", [str(int(float(each) > 0)) for each in values])
        if all("." in each for each in values)
        else (key, values)
        for key, values in lists.items()
    ]
    for key, value in shared.items():
        begin = len(names) - value
        kinds = lists["layer_types"][:begin]
        last = {kind: place for place, kind in enumerate(kinds)}
        columns.append(
            (f"^{key}", [str(int(place in last.values())) for place in range(len(names))])
        )
        columns.append((f">{key}", [str(int(place >= begin)) for place in range(len(names))]))
    for key, value in counts.items():
        columns.append((f"<{key}", [str(int(place < value)) for place in range(len(names))]))
        columns.append(
            (f"%{key}", [str(int((place + 1) % value == 0)) for place in range(len(names))])
        )
    for count in 2, 3, 4:
        for some in combinations(columns, count):
            if rule := _by(*zip(*some, strict=True), names):
                return rule
    return None


def _lists(config, layers):
    """Lists of an entry a layer, by their keys; those of kinds come first."""
    named = {key: getattr(config, key, None) for key in KINDS}
    named |= {key: value for key, value in sorted(config.to_dict().items()) if key not in named}
    return {
        key: [_word(each) for each in value]
        for key, value in named.items()
        if isinstance(value, (list, tuple))
        and len(value) == layers
        and all(isinstance(each, (str, int, float)) for each in value)
    }


def _word(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


def cycles_of(kind, rule):
    """Lines for lists of a config that its class makes where they are left out: how they repeat."""
    lines = []
    default = CONFIG_MAPPING[kind]()
    default.allow_global_per_layer_attribute_access = True
    used = rule.split()[2].split(",") if rule.startswith("kinds by") else []
    for key in dict.fromkeys([*KINDS, *used]):
        values = getattr(default, key, None)
        if not isinstance(values, (list, tuple)) or not values:
            continue
        for period in range(1, len(values) // 2 + 1):
            if all(value == values[place % period] for place, value in enumerate(values)):
                lines.append(" ".join(["cycle", key, *map(_word, values[:period])]))
                break
    return lines


def _by(keys, lists, names):
    """`kinds by KEY[,KEY] VALUE[,VALUE]=A …`"""
    told = {}
    for *values, name in zip(*lists, names, strict=True):
        if told.setdefault(",".join(map(str, values)), name) != name:
            return None
    rows = [f"{values}={name}" for values, name in told.items()]
    return " ".join(["kinds by", ",".join(keys), *rows])
