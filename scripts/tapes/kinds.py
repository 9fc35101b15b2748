"""How a config says which layer is of which kind."""

from points import KINDS
from transformers.models.auto.configuration_auto import CONFIG_MAPPING


def rule_of(names, config):
    """A line of the tape for these layers. Raises ValueError where no rule of ours says it."""
    config.allow_global_per_layer_attribute_access = True
    if len(set(names)) == 1:
        return f"kinds {names[0]}"
    for keys in ([each] for each in KINDS):
        lists = [getattr(config, key, None) for key in keys]
        if all(lists) and (rule := _by(keys, lists, names)):
            return rule
    lists = [(key, getattr(config, key)) for key in KINDS if getattr(config, key, None)]
    if len(lists) > 1 and (rule := _by(*zip(*lists, strict=True), names)):
        return rule
    for key, value in sorted(config.to_dict().items()):
        if key.endswith(("token_id", "index")):
            continue
        if type(value) is int and 0 < value < len(names):
            first, rest = set(names[:value]), set(names[value:])
            if len(first) == len(rest) == 1:
                return f"kinds below {key} {names[0]} {names[-1]}"
    for key, value in sorted(config.to_dict().items()):
        if type(value) is int and 1 < value <= len(names):
            told = {bool((place + 1) % value): name for place, name in enumerate(names)}
            if names == [told[bool((place + 1) % value)] for place in range(len(names))]:
                return f"kinds every {key} {told[True]} {told[False]}"
    raise ValueError(f"layers are of kinds {''.join(names)}, and no key says which")


def cycles_of(kind):
    """Lines for lists of a config that its class makes where they are left out: how they repeat."""
    lines = []
    default = CONFIG_MAPPING[kind]()
    default.allow_global_per_layer_attribute_access = True
    for key in KINDS:
        values = getattr(default, key, None)
        if not values:
            continue
        for period in range(1, len(values) // 2 + 1):
            if all(value == values[place % period] for place, value in enumerate(values)):
                lines.append(" ".join(["cycle", key, *map(str, values[:period])]))
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
