"""scontrol's requests about nodes: update, create, reboot, cancel_reboot, power."""

from __future__ import annotations

from slurmsim.commands.scontrol.keywords import keyword_of, tag_matches
from slurmsim.commands.scontrol.session import NO_ERROR, Session
from slurmsim.commands.text.values import INFINITE, leading_number
from slurmsim.records.node import NODE
from slurmsim.release_changes import since

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Words = Sequence[str]
UNSPECIFIED = "Unspecified error"
# word, how much of it must be there, what is sent
_STATES: tuple[tuple[str, int, str], ...] = (
    ("NoResp", 3, "NO_RESPOND"), ("CANCEL_REBOOT", 3, "CANCEL_REBOOT"), ("DRAIN", 3, "DRAIN"), ("FAIL", 3, "FAIL"),
    ("FUTURE", 3, "FUTURE"), ("RESUME", 3, "RESUME"), ("POWER_DOWN_ASAP", 12, "POWER_DOWN_ASAP"),
    ("POWER_DOWN_FORCE", 12, "POWER_DOWN_FORCE"), ("POWER_DOWN", 7, "POWER_DOWN"), ("POWER_UP", 7, "POWER_UP"),
    ("UNDRAIN", 3, "UNDRAIN"), ("UNKNOWN", 3, "UNKNOWN"), ("DOWN", 3, "DOWN"), ("IDLE", 3, "IDLE"),
    ("ALLOCATED", 3, "ALLOCATED"), ("ERROR", 3, "ERROR"), ("MIXED", 3, "MIXED"),
)  # fmt: skip
_VALID = "Valid states are: NoResp DRAIN FAIL FUTURE RESUME POWER_DOWN POWER_UP UNDRAIN"
_BINDINGS = ("none", "socket", "ldom", "core", "thread", "off")


class _Denied(Exception):
    """Nothing is sent; the error to report, "" for none."""

    def __init__(self, error: str = "") -> None:
        super().__init__(error)
        self.error = error


def _denied(session: Session, text: str) -> _Denied:
    session.refuse(text)
    return _Denied(NO_ERROR)


class _Ends(Exception):
    """The words that follow are not read; what was read is sent."""


def update_node(session: Session, words: Words) -> str:
    """``update nodename=...``: the error, "" for none."""
    request: dict[str, Any] = {}
    try:
        for word in words:
            _word(session, request, word)
    except _Ends:
        pass
    except _Denied as denied:
        return denied.error
    if request.get("state") in ("DOWN", "DRAIN", "FAIL") and not request.get("reason"):
        session.fail("You must specify a reason when DOWNING or DRAINING a node. Request denied")
        return ""
    if request.get("resume_after") is not None and request.get("state") not in ("DOWN", "DRAIN"):
        session.fail("You can only specify a resume time when DOWNING or DRAINING a node. Request denied")
        return ""
    if not set(request) - {"names"}:
        session.fail("No changes specified")
        return ""
    return _call(session, "update_node", request)


def _word(session: Session, request: dict[str, Any], word: str) -> None:
    tag, equals, value = word.partition("=")
    if not equals:
        raise _denied(session, f"Invalid input: {word}  Request aborted")
    keyword = keyword_of(NODE, tag, session.release)
    if keyword is not None:
        request[keyword.row.name] = _value(session, keyword.row.name, value, word)
        return
    session.fail(f"Update of this parameter is not supported: {word}")
    session.io.error("Request aborted")
    raise _Denied


def _value(session: Session, field: str, value: str, word: str) -> Any:
    match field:
        case "weight":
            return _weight(session, value, word)
        case "reason":
            value = value[1:] if value.startswith('"') else value
            return value[:-1] if value.endswith('"') else value
        case "state":
            return _state(session, value, word)
        case "cpu_bind" if value.lower() not in _BINDINGS:
            raise _denied(session, f"Invalid input {word}")
        case "resume_after":
            if value == "-1":
                return INFINITE
            number, rest = leading_number(value)
            if rest or not value or number < 0:
                raise _denied(session, f"Invalid value {word} for ResumeAfter")
            return number
    return value


def _weight(session: Session, value: str, word: str) -> int | None:
    number, rest = leading_number(value)
    if since(session.release, "weight_is_a_number"):
        if rest or not value or not 0 <= number <= INFINITE:
            raise _denied(session, f"Invalid value {word} for Weight")
        return number
    if rest[:1] in ("k", "K") and rest:
        number, rest = number * 1024, rest[1:]
    if rest:
        if value.lower() in ("unlimited", "infinite"):
            return INFINITE
        session.error(f"Weight value ({value}) is not a valid number")
        raise _Ends
    if value.startswith("-"):
        session.error(f"Weight value ({value}) is less than zero")
        raise _Ends
    if number > 0xFFFFFFF0:
        session.error(f"Weight value ({value}) is greater than {0xFFFFFFF0}")
        raise _Ends
    return number


def _state(session: Session, value: str, word: str) -> str:
    for name, least, state in _STATES:
        if tag_matches(value, name, least):
            return state
    session.fail(f"Invalid input: {word}")
    for line in ("Request aborted", _VALID, "Not all states are valid given a node's prior state"):
        session.io.error(line)
    raise _Denied


def _call(session: Session, name: str, request: dict[str, Any]) -> str:
    error = session.request(name, **request)
    session.code = 1 if error else session.code
    return error


def create_node(session: Session, words: Words) -> None:
    error = _call(session, "create_node", {"line": " ".join(words)})
    if error:
        article = "" if since(session.release, "error_creating_nodes") else " the"
        session.complain(f"Error creating{article} node(s)", first_told(session, error), loud=True)


def first_told(session: Session, error: str) -> str:
    """Print the line that slurmctld itself says of an error, if it does; return the text of its number."""
    own, _, text = error.rpartition("\n")
    if own:
        session.io.error(f"scontrol: error: {own}")
    return text


def cancel_reboot(session: Session, words: Words) -> None:
    """``cancel_reboot NODES``."""
    if error := _call(session, "update_node", {"names": words[1], "state": "CANCEL_REBOOT"}):
        session.complain("slurm_update error", error, loud=True)


def reboot(session: Session, words: Words) -> None:
    """``reboot_nodes [ASAP] [nextstate=...] [reason=...] ALL|NODES``; 26.05 has more words, in any order."""
    read = _reboot_words if since(session.release, "power_actions") else _early_reboot_words
    request = read(session, words)
    if request is None:
        return
    error = session.request("reboot_nodes", **request)
    if error == "RebootProgram isn't defined":
        session.error(error)
        error = UNSPECIFIED
    if error:
        session.complain("scontrol_reboot_nodes error", error)


def _early_reboot_words(session: Session, words: Words) -> dict[str, Any] | None:
    """Return what is asked where up to three words may stand before the nodes; None when it is wrong."""
    request: dict[str, Any] = {"asap": False, "next_state": None, "reason": None}
    at = 1
    for word in words[1:4]:
        if not _reboot_word(session, request, word):
            return None
        at += word.upper() == "ASAP" or word.lower().startswith(("reason=", "nextstate="))
    if len(words) - at > 1:
        session.fail(f"too many arguments for keyword:{words[0]}")
        return None
    if len(words) - at < 1:
        session.fail("Missing node list. Specify ALL|<NodeList>")
        return None
    return request | {"names": words[at]}


def _reboot_words(session: Session, words: Words) -> dict[str, Any] | None:
    """Return what is asked, with its words in any order; None when it is wrong."""
    if len(words) > 7:
        session.fail(f"too many arguments for keyword:{words[0]}")
        return None
    request: dict[str, Any] = {"asap": False, "forced": False, "next_state": None, "reason": None, "power_action": None}
    for word in words[1:]:
        key, equals, _ = word.partition("=")
        known = word.upper() in ("ASAP", "FORCE") or (equals and key.lower() in ("reason", "nextstate", "action"))
        if not known and "names" in request:
            session.warn("Multiple node lists specified")
            return None
        if not known:
            request["names"] = word
        elif not _new_reboot_word(session, request, word):
            return None
    if "names" not in request:
        session.fail("Missing node list. Specify ALL|<NodeList>")
        return None
    return request


def _new_reboot_word(session: Session, request: dict[str, Any], word: str) -> bool:
    """Read one word that is no list of nodes; False when it is wrong."""
    key, _, value = word.partition("=")
    if word.upper() == "FORCE":
        request["forced"] = True
        return True
    if key.lower() == "action":
        if not value or request["power_action"] is not None:
            session.warn("multiple power actions specified" if value else "missing power action")
            return False
        request["power_action"] = value
        return True
    if key.lower() == "reason" and value and request["reason"] is not None:
        session.warn("multiple reasons specified")
        return False
    return _reboot_word(session, request, word)


def _reboot_word(session: Session, request: dict[str, Any], word: str) -> bool:
    """Read one word before the nodes; False when it is wrong."""
    value = word.partition("=")[2]
    if word.upper() == "ASAP":
        request["asap"] = True
    elif word.lower().startswith("reason="):
        if not value:
            session.warn("missing reason")
            return False
        request["reason"] = value
    elif word.lower().startswith("nextstate="):
        if not value:
            session.warn("missing state")
            return False
        state = next((name for name in ("DOWN", "RESUME") if name.startswith(value.upper())), None)
        if state is None:
            session.warn(f"Invalid state: {value}")
            session.warn("Valid states: DOWN, RESUME")
            return False
        request["next_state"] = state
    return True


def power(session: Session, words: Words) -> None:
    """``power UP|DOWN [ASAP|FORCE] NODES``; 26.05 has ``[reason=TEXT] [action=NAME]`` behind it."""
    actions = since(session.release, "power_actions")
    wrong = _power_words_wrong(words, actions)
    if wrong:
        session.fail(wrong)
        return
    how = words[2].upper() if len(words) > 3 and words[2].upper() in ("ASAP", "FORCE") else ""
    at = 3 if how else 2
    state = f"POWER_{words[1].upper()}" + (f"_{how}" if how else "")
    request: dict[str, Any] = {"names": words[at], "state": state}
    for word in words[at + 1 :]:
        key, _, value = word.partition("=")
        if wrong := _power_option_wrong(word, up=state.startswith("POWER_UP")):
            session.fail(wrong)
            return
        request["reason" if key.upper() == "REASON" else "power_action"] = value
    if error := _call(session, "update_node", request):
        session.complain("scontrol_power_nodes error", error)


def _power_words_wrong(words: Words, actions: bool) -> str:
    """Return what is wrong with the words up to the nodes; "" for nothing."""
    if not 3 <= len(words) <= (6 if actions else 4):
        return f"too {'few' if len(words) < 3 else 'many'} arguments for keyword:{words[0]}"
    direction, how = words[1].upper(), words[2].upper()
    if direction not in ("UP", "DOWN"):
        return f"unexpected argument: '{words[1]}'" if actions else f"unexpected argument: {words[1]}"
    if not actions and len(words) == 4 and how not in ("ASAP", "FORCE"):
        return f"unrecognized optional command:{words[2]}"
    refused = ("ASAP",) if actions else ("ASAP", "FORCE")
    if direction == "UP" and how in refused and (actions or len(words) == 4):
        return f"The '{words[2]}' argument is not valid for power up requests"
    if actions and len(words) == 3 and how in ("ASAP", "FORCE"):
        return "Mandatory argument {ALL|<NodeList>|<NodeSet>} missing"
    return ""


def _power_option_wrong(word: str, *, up: bool) -> str:
    """Return what is wrong with a word behind the nodes; "" for nothing."""
    key, _, value = word.partition("=")
    if not value:
        return f"invalid argument: '{word}'"
    if key.upper() == "REASON" and up:
        return "Reason only allowed for scontrol power down operation"
    return "" if key.upper() in ("REASON", "ACTION") else f"unexpected argument:'{word}'"
