"""The reasons of an alert as sentences, by the pack that judged it."""

import json
from collections.abc import Callable, Mapping

from comporta.dashboard import phrases
from comporta.judging import reasons
from comporta.judging.packs import Pack
from comporta.postgres.page_queries import Alert

# Sentences, each with the part of the score that it explains.
Explain = Callable[[Alert], list[tuple[str, str]]]


def explainer(packs: Mapping[tuple[str, int], Pack]) -> Explain:
    """Explains by these packs, named by name and version; what another pack decided is told by its rules' ids."""
    return lambda alert: _explain(packs.get((alert.pack, alert.pack_version)), alert)


def _explain(pack: Pack | None, alert: Alert) -> list[tuple[str, str]]:
    try:
        stored = [(str(one["rule"]), float(one["points"])) for one in json.loads(alert.reasons)]
        if pack is None:
            return [(f"{rule}, a rule of pack {alert.pack} version {alert.pack_version}", "") for rule, _ in stored]
        told = reasons.say(alert.reasons, pack, currency=alert.currency)
    except (ValueError, KeyError, TypeError):
        return [("The stored reasons cannot be read", "")]
    parts = [(_sentence(text), _points(pack.weight * points)) for text, (_, points) in zip(told, stored, strict=True)]
    if pack.base is not None and alert.message_score is not None:
        parts.append(("The message's own score", _points(alert.message_score)))
    return parts


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _points(points: float) -> str:
    return f"+{phrases.score(points)}"
