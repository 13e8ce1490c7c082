"""Where settings come from: flags before environment before file before defaults; defaults come last of all."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

import msgspec

from steadhold.server import retention
from steadhold.server.settings import Retention, Settings, describe

PREFIX: Final = "STEADHOLD_"
FILE_VARIABLE: Final = "STEADHOLD_CONFIG"
_WHOLE: Final = re.compile("-?[0-9]{1,16}")
_NAMES: Final = {setting["name"]: setting for setting in describe()}


class SettingError(ValueError):
    """A setting is unknown, unreadable or out of bounds; the message says which, where, and what to do."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """Settings, and for each by its dotted name where its value came from."""

    settings: Settings
    origins: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Found:
    value: Any
    origin: str
    of_file: bool = False
    """It has a type of its own, and text is text."""


def load(
    flags: Mapping[str, Any] | None = None, environ: Mapping[str, str] | None = None, file: Path | None = None
) -> Loaded:
    """Merge all sources. A flag that is None was not given. Raises SettingError, or retention.OrderBroken."""
    environ = environ or {}
    path = file or (Path(environ[FILE_VARIABLE]) if environ.get(FILE_VARIABLE) else None)
    found = _of_file(path) if path else {}
    found |= _of_environment(environ)
    found |= {
        name: _Found(value, f"flag --{_flag(name)}") for name, value in (flags or {}).items() if value is not None
    }
    for name in found:
        if name not in _NAMES:
            raise SettingError(f"{found[name].origin}: there is no setting {name!r}.{_nearest(name)}")
    settings = _built(found)
    retention.check(settings.retention)
    _outward(settings)
    return Loaded(settings, {name: found[name].origin if name in found else "default" for name in _NAMES})


def _outward(settings: Settings) -> None:
    """Refuse a sealing key, or an entry of the lists of places and of sinks, that cannot be read."""
    from steadhold import sinks
    from steadhold.kit import seal
    from steadhold.webhooks import guard

    try:
        seal.read_keys(settings.sealing_key)
        guard.read_rules(settings.webhooks_allow)
        sinks.read_sinks(settings.sinks)
    except seal.KeyFault as error:
        raise SettingError(f"sealing_key: {error}") from None
    except guard.EntryFault as error:
        raise SettingError(f"webhooks_allow: {error}") from None
    except sinks.SinkFault as error:
        raise SettingError(f"sinks: {error}") from None


def shown(loaded: Loaded) -> list[tuple[str, Any, str]]:
    """Name, value and origin of every setting, for people; secrets are not among the values."""
    rows: list[tuple[str, Any, str]] = []
    for name, setting in _NAMES.items():
        group, _, inner = name.rpartition(".")
        value = getattr(loaded.settings.retention if group else loaded.settings, inner)
        rows.append((name, "(secret)" if setting["secret"] and value else value, loaded.origins[name]))
    return rows


def variable(name: str) -> str:
    """The environment variable of a setting."""
    return PREFIX + name.replace(".", "_").upper()


def _flag(name: str) -> str:
    return name.replace(".", "-").replace("_", "-")


def _of_file(path: Path) -> dict[str, _Found]:
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingError(f"The settings file {path} cannot be read: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingError(f"The settings file {path} is not TOML: {error}.") from error
    found = {name: _Found(value, str(path), of_file=True) for name, value in _flat(table)}
    for name in [name for name in found if _secret_file(name)]:
        value = found.pop(name)
        found[name.removesuffix("_file")] = _Found(_read_secret(str(value.value), f"{path}: {name}"), value.origin)
    return found


def _flat(table: Mapping[str, Any], group: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        if isinstance(value, dict) and not group:
            yield from _flat(cast("dict[str, Any]", value), f"{name}.")
        else:
            yield group + name, value


def _of_environment(environ: Mapping[str, str]) -> dict[str, _Found]:
    found: dict[str, _Found] = {}
    for name, setting in _NAMES.items():
        key = variable(name)
        if key in environ:
            found[name] = _Found(environ[key], key)
        if setting["secret"] and (path := environ.get(f"{key}_FILE")):
            if key in environ:
                raise SettingError(f"{key} and {key}_FILE are both set; unset one of them.")
            found[name] = _Found(_read_secret(path, f"{key}_FILE"), f"{key}_FILE")
    return found


def _secret_file(name: str) -> bool:
    return name.endswith("_file") and _NAMES.get(name.removesuffix("_file"), {}).get("secret", False)


def _read_secret(path: str, origin: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingError(f"{origin}: the file {path} cannot be read: {error}.") from error


def _built(found: Mapping[str, _Found]) -> Settings:
    outer: dict[str, Any] = {}
    inner: dict[str, Any] = {}
    for name, value in found.items():
        group, _, last = name.rpartition(".")
        struct = Retention if group else Settings
        (inner if group else outer)[last] = _converted(struct, last, value)
    return Settings(**outer, retention=Retention(**inner))


def _converted(struct: type[msgspec.Struct], name: str, found: _Found) -> Any:
    kind = next(field.type for field in msgspec.structs.fields(struct) if field.name == name)
    value = found.value
    if isinstance(value, str) and "tuple" in str(kind):
        value = [part.strip() for part in value.split(",") if part.strip()]
    elif isinstance(value, str) and getattr(kind, "__origin__", kind) is int:
        value = _number(name, found)
    try:
        return msgspec.convert(value, kind, strict=found.of_file or not isinstance(value, str))
    except msgspec.ValidationError as error:
        shown_value = "the secret" if _NAMES.get(name, {}).get("secret") else repr(found.value)
        raise SettingError(f"{found.origin}: {name} cannot be {shown_value}: {error}.") from error


def _number(name: str, found: _Found) -> int:
    """A number that was typed. Python and the decoder would read `1_0`, `1e1` and the digits of every script, too."""
    if found.of_file:
        raise SettingError(f"{found.origin}: {name} cannot be {found.value!r:.40}: write a number without quotes.")
    if not _WHOLE.fullmatch(found.value):
        why = "write a whole number of 1 to 16 plain digits, as in 12"
        raise SettingError(f"{found.origin}: {name} cannot be {found.value!r:.40}: {why}.")
    return int(found.value)


def _nearest(name: str) -> str:
    near = difflib.get_close_matches(name, _NAMES, n=1)
    return f" Did you mean {near[0]!r}?" if near else " `steadhold config show` lists them all."
