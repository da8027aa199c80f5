"""Text that addresses the model in place of its reader: orders to drop instructions or call tools, forged turns, hidden letters.

Such text is data and stays as it is; a person is told of it, since no escaping keeps a model from believing what it reads.
docs/security.md has how much is found, and how often harmless text is taken for it.
"""

# ruff: noqa: E501 - patterns

from __future__ import annotations

import re
from collections.abc import Iterable

from carrel.core.types import Chunk
from carrel.engine.appearance import readings

_INSTRUCTIONS = r"(?:instructions?|prompts?|directives?|guidelines|system messages?)"
_MODEL = r"(?:(?:ai|llm|chat|coding|code|language|large language) (?:assistants?|agents?|models?|bots?)|llms?|chatbots?|chatgpt|copilot|claude)"
_SECRETS = (
    r"(?:api[ _-]?keys?|passwords?|secrets?|credentials?|tokens?|environment variables?|\.env\b|\.ssh|id_rsa|private keys?)"
)


def _as_read(pattern: str) -> str:
    """Return a pattern in the letters that texts are read in: accents are gone, and look-alikes are one letter."""
    return readings(pattern)[0]


_BEFORE = r"(?:before|previously|earlier|so far|until now|above)"
# In each language: a word for dropping, a few words, and one for what was ordered; in some the order is the other way round.
_DROPPED_ELSEWHERE = _as_read(
    r"\b(?:ignorier|vergiss|vergesst|vergessen sie|missacht|verwirf)\w*\b[^.\n]{0,30}\b(?:anweisung|vorgabe|regel|instruktion)\w*"
    r"|\b(?:vergiss|vergesst|ignorier\w*) alles\b[^.\n]{0,12}\b(?:dir|ihnen|euch|vorher|bisher)\b"
    r"|\b(?:ignora|ignore|ignorad|olvida|olvide|olvidad|descarta|descarte)\b[^.\n]{0,24}\b(?:instrucciones|reglas|órdenes|indicaciones)\b"
    r"|\b(?:ignore|ignorez|oublie|oubliez|néglige|négligez)\b[^.\n]{0,24}\b(?:instructions|consignes|règles|directives)\b"
    r"|\b(?:ignore|ignora|esqueça|esquece|desconsidere|descarte)\b[^.\n]{0,24}\b(?:instruções|regras|ordens)\b"
    r"|\b(?:ignora|ignorate|dimentica|dimenticate|trascura|trascurate)\b[^.\n]{0,24}\b(?:istruzioni|regole|ordini)\b"
    r"|\b(?:negeer|vergeet)\b[^.\n]{0,24}\b(?:instructies|regels|opdrachten)\b"
    r"|(?:игнориру|забуд|отбрось)\w*[^.\n]{0,24}(?:инструкци|указани|правил|команд)\w*"
    r"|(?:指示|命令|指図)[^。\n]{0,12}(?:無視|忘れ)(?:して|し、|る?こと|て|ろ)"
    r"|(?:지시|명령|지침)[^.\n]{0,10}(?:무시|잊)(?:하|어|으)"
    r"|(?:忽略|忘记|忘掉|无视)[^。\n]{0,8}(?:指令|指示|规则)"
)
_HIDDEN_ELSEWHERE = _as_read(
    r"\b(?:sage?|verrate?|erzähle?|teile)\b[^.\n]{0,16}\b(?:benutzer|nutzer|anwender)\w*\b[^.\n]{0,16}\bnicht"
    r"|\bno (?:le )?(?:digas|diga|informes|informe|menciones|reveles)\b[^.\n]{0,16}\busuario"
    r"|\bne (?:le |la |lui )?(?:dis|dites|révèle|révélez|mentionne|mentionnez)\b[^.\n]{0,16}\butilisateur"
    r"|\bnão (?:diga|informe|conte|revele)\b[^.\n]{0,16}\b(?:usuário|utilizador)|\bnon (?:dire|dite|rivelare)\b[^.\n]{0,16}\butente"
    r"|не (?:говори|сообщай|рассказывай)\w*[^.\n]{0,12}пользовател|(?:不要|别)告诉用户|ユーザーに[^。\n]{0,8}(?:言わない|伝えない|知らせない)"
)
_RULES = {
    "tells a model to drop its instructions": re.compile(
        rf"\b(?:everything|all(?: that)?|what(?:ever)?) (?:that )?you (?:were|have been|had been|are) (?:told|given|taught)\b[^.\n]{{0,24}}"
        rf"\b(?:void|no longer|obsolete|cancelled|wrong|does not|do not|doesn't)|\b(?:forget|ignore|disregard)\b[^.\n]{{0,8}}"
        rf"\b(?:what|everything|all)\b[^.\n]{{0,10}}\byou (?:were|have been|had been) (?:told|given)|\byour (?:earlier|previous|prior|original|old) (?:rules|orders)"
        rf" (?:are|were)\b[^.\n]{{0,12}}\b(?:void|cancelled|obsolete|gone)|\b(?:do not|don't|never|stop) (?:follow|obey)(?:ing)?\b[^.\n]{{0,8}}\b(?:your|the)\b"
        rf"[^.\n]{{0,16}}\b{_INSTRUCTIONS}\b(?=[^.\n]{{0,60}}\b(?:follow|obey|instead)\b)"
        rf"|\b{_INSTRUCTIONS}\b[^.\n]{{0,12}}\byou (?:were|have been) given\b[^.\n]{{0,12}}\b{_BEFORE}\b"
        rf"|{_DROPPED_ELSEWHERE}|"
        rf"\b(?:ignore|disregard|forget|override|bypass|drop)\b[^.\n]{{0,40}}\b(?:previous|prior|above|earlier|preceding|existing|original"
        rf"|initial|former|all|any|your|system)\b[^.\n]{{0,24}}\b{_INSTRUCTIONS}"
        rf"|\b(?:your|the) (?:previous|prior|earlier|above) {_INSTRUCTIONS}\b[^.\n]{{0,30}}\b(?:void|obsolete|no longer|outdated|cancelled|do not)"
        rf"|\bnew (?:system )?{_INSTRUCTIONS}\s*(?:for you)?:|\bsystem (?:override|prompt override)\b|\bdeveloper mode (?:enabled|on)\b"
        r"|\bignorier\w* (?:alle |bitte |die )*(?:\w+ )?(?:anweisungen|vorgaben)|\bignor(?:a|e|ez|er|are|iere)\b (?:todas |toutes |tutte )?"
        r"(?:las|les|le) (?:instrucciones|instructions precedentes|istruzioni)|\u5ffd\u7565.{0,8}(?:\u6307\u4ee4|\u6307\u793a|\u8bf4\u660e)"
    ),
    "speaks to a model by name": re.compile(
        rf"\b(?:any|every|each|all) (?:ai|{_MODEL}|agents?|assistants?)\b (?:that|which|who) (?:reads?|process(?:es)?|sees?|summari[sz]es?|handles?|opens?)\b"
        rf"[^.\n]{{0,40}}\b(?:must|should|has to|have to|shall|needs? to)\b"
        rf"|(?:^|\n)\W{{0,6}}(?:ai|model|agent|assistant|llm)\s*[:,]\s*(?:please |now |always )?(?:treat|take|obey|follow|ignore|call|run|execute|add|write|delete|send)\b"
        rf"[^\n]{{0,60}}\b(?:orders?|operator|administrator|instructions?|you|your|now)\b"
        rf"|\bhey,? (?:{_MODEL}|ai)\b|\bfrom now on,? you(?: are| act| behave| will| must|'re)\b[^.\n]{{0,40}}\b(?:assistant|ai|model|without|unrestricted|unlimited|mode|dan|bot)\b"
        rf"|\b(?:paste|include|put|write|add|copy|quote|append)\b[^.\n]{{0,12}}\byour (?:own )?system prompt\b|"
        rf"\b(?:attention|note|message|instructions?|important|reminder)\s*(?:to|for|:)\s*(?:the |any |all |every )?{_MODEL}\b"
        rf"|\bif you are an? (?:ai\b|{_MODEL})|\b{_MODEL}(?: reading this| that reads? this|s?,? you (?:must|should|have to)| must (?:now )?(?:call|run|use|reply|answer|tell))"
        r"|\bas an ai\b[^.\n]{0,20}\byou (?:must|should)|\byou are now (?:an? |in )?\w+"
        rf"|\b(?:reveal|print|repeat|output|show|leak)\b[^.\n]{{0,20}}\b(?:your|the) (?:system prompt|hidden {_INSTRUCTIONS}|initial {_INSTRUCTIONS})"
    ),
    "hides something from the user": re.compile(
        r"\b(?:keep|hide|conceal) (?:this|it|that)\b[^.\n]{0,16}\bfrom (?:the )?(?:user|human|person|developer)\b(?=[^.\n]{0,12}\b(?:you|that you|whom you)\b|[.!\n]|$)"
        r"|\b(?:already|has|have) (?:already )?(?:confirmed|approved|agreed|allowed|authori[sz]ed)\b[^.\n]{0,30}\bso,? (?:skip|run|call|do|delete|execute|don't|do not)\b"
        r"[^.\n]{0,30}\b(?:confirm|ask|approval|permission)\w*|\b(?:run|execute|call|delete|send|deploy|push)\b[^.\n]{0,30}\bwithout asking (?:the |your )?(?:user|human|person|developer)"
        r"|" + _HIDDEN_ELSEWHERE + r"|"
        r"\b(?:do not|don't|never|without)\s(?:tell|telling|mention|mentioning|inform|informing|reveal|revealing|alert|alerting)\b[^.\n]{0,24}"
        r"\b(?:the )?(?:user|human|person|developer)\b|\btell (?:the user )?no(?:body| ?one)\b|\b(?:the user|i) (?:has |have )?(?:already )?"
        r"(?:agreed|consents?|allows?|authori[sz]ed?)\b[^.\n]{0,20}\b(?:dangerous|tool|pipeline|everything)|\bthe user agreed\b|\bi am the user\b"
    ),
    "asks for secrets": re.compile(
        rf"\b(?:take|get|read|find|grab|collect)\b[^.\n]{{0,16}}\b{_SECRETS}[^.\n]{{0,40}}\band (?:send|post|upload|forward|email)\b[^.\n]{{0,16}}\b(?:to|at) (?:https?://|\w+@)|"
        rf"\b(?:send|post|upload|forward|exfiltrate|email|append|attach|paste)\b[^.\n]{{0,40}}\b{_SECRETS}[^.\n]{{0,40}}\b(?:to|at) (?:https?://|\w+@|\w+\.(?:example|com|net|io|org)\b)"
        rf"|\b(?:read|open|print|include|give|pass) (?:the )?(?:contents? of |file )?~/\.(?:ssh|aws|env|netrc)\S*[^.\n]{{0,60}}\b(?:send|include|pass|as|and)\b"
    ),
    "forges a chat model's own markup": re.compile(
        r"<\|(?:im_start|im_end|start_header_id|end_header_id|python_tag|eot_id|begin_of_text|endoftext|start|channel|message|call|system|user|assistant)\|>"
        r"|\[/?inst\]|\[tool_calls\]|<</?sys>>|</?(?:tool_call|tool_result|function_calls|function_results|function_response|system_prompt)>"
        r"|<(?:antml:)?invoke name=|[\"'](?:tool_calls|function_call)[\"']\s*:\s*[\[{]|[\"']type[\"']\s*:\s*[\"']tool_use[\"']"
        r"|[\"']role[\"']\s*:\s*[\"']system[\"']\s*,\s*[\"']content[\"']|[\"']method[\"']\s*:\s*[\"'](?:tools/call|notifications/tools/list_changed)[\"']"
        r"|(?:^|\n)[ \t]*(?:user|human)\s*:[^\n]*\n\s*(?:assistant|ai)\s*:|\baction\s*:\s*\w+\s*\n\s*action input\s*:|```(?:tool_call|tool_code)\b"
        r"|[\"']name[\"']\s*:\s*[\"'][\w.-]+[\"']\s*,\s*[\"']arguments[\"']\s*:\s*[{\"']|[\"']tool[\"']\s*:\s*[\"'][^\"']+[\"']\s*,\s*[\"']args[\"']"
        r"|</?(?:code_context|rag_context)\b"
    ),
}
_HIDDEN = re.compile("[\U000e0020-\U000e007e]{8}|[\u202d\u202e]|(?:\\w[\u200b\u2060\u2062\u2063\ufeff]){2}")


_NEEDLES = {
    "tells a model to drop its instructions": (
        *("instruction", "prompt", "directive", "guideline", "override", "developer mode", "anweisung", "vorgaben"),
        *(
            "you were",
            "you have been",
            "you had been",
            "your ",
            "regel",
            "instruktion",
            "alles",
            "reglas",
            "órdenes",
            "indicaciones",
            "instruc",
        ),
        *("consignes", "règles", "instruções", "regras", "ordens", "regole", "ordini", "instructies", "regels", "opdrachten"),
        *("инструкци", "указани", "правил", "команд", "無視", "忘れ", "지시", "명령", "지침", "规则"),
        *("instrucciones", "istruzioni", "\u6307\u4ee4", "\u6307\u793a", "\u8bf4\u660e", "system message"),
    ),
    "speaks to a model by name": (
        *(
            " ai",
            "(ai",
            "ai:",
            "ai ",
            "llm",
            "language model",
            "code model",
            "assistant",
            "agent",
            "chatbot",
            "chat model",
            "chatgpt",
        ),
        *(
            "copilot",
            "claude",
            "from now on",
            "model:",
            "model,",
            "agent:",
            "agent,",
            "assistant:",
            "you are now",
            "system prompt",
            "hidden instruction",
            "initial instruction",
        ),
    ),
    "hides something from the user": (
        *(
            "nutzer",
            "anwender",
            "usu\u00e1rio",
            "usuario",
            "utilizador",
            "utilisateur",
            "utente",
            "\u043f\u043e\u043b\u044c\u0437\u043e\u0432\u0430\u0442\u0435\u043b",
            "\u7528\u6237",
            "\u30e6\u30fc\u30b6\u30fc",
        ),
        *("confirmed", "approved", "agreed", "allowed", "authori"),
        "user",
        "human",
        "person",
        "developer",
        "nobody",
        "no one",
    ),
    "asks for secrets": ("key", "password", "secret", "credential", "token", "environment", ".env", "ssh", "id_rsa", "~/."),
    "forges a chat model's own markup": (
        *(
            "<|",
            "inst]",
            "tool_call",
            "sys>",
            "tool_result",
            "function_",
            "system_prompt",
            "invoke name",
            "tool_use",
            "tool_code",
        ),
        *("'role'", '"role"', "tools/call", "notifications/tools", "assistant:", "assistant :", "ai:", "action input"),
        *("'arguments'", '"arguments"', "'args'", '"args"', "_context"),
    ),
}
_NEEDLES = {told: tuple(dict.fromkeys(map(_as_read, words))) for told, words in _NEEDLES.items()}
"""Words of which a text must hold one before a rule is tried: searching for words takes a hundredth of the time."""
_ORDER = re.compile(
    r"\b(?:call|execute|invoke|trigger|run) (?:the )?(?:(tool|function|werkzeug) )?[`'\"]?\w+\b[`'\"]?(?!\()(?= ?[,.]? ?(with (?:the )?(?:path|arg)"
    r"|again|first|and (?:then )?(?:send|tell|reply|answer)|at once|before you|\.?(?:\s*$|\n)|[.,]))"
)
_OTHER_ORDER = re.compile(
    r"\b(?:decode|decrypt)(?: this| it)? and (?:follow|obey|execute|run|do)\b|\bwerkzeug \w+ auf\b|\bllama a \w+ con\b|\u8c03\u7528.{0,12}\u5de5\u5177"
)
_VERBS = ("call ", "execute ", "invoke ", "trigger ", "run ")
_OTHER_VERBS = ("decode", "decrypt", "werkzeug", "llama a", "\u8c03\u7528")
_URGED = re.compile(
    r"(?:^|[.!?:>*#,]\s*|\n\s*|\byou )(?:now|please|must|immediately|then|at once)(?: now| please| immediately| then)*,? $"
)
_STRONG = re.compile(r"with |again|first|at once|before you|\.?\s*$|\.?\n")
_OWN = re.compile(r"(?:^|[.!?:>;,-]\s*|\n\s*)$")


def addresses_model(text: str) -> str | None:
    """Return in words what in a text addresses a model; None where nothing does."""
    if not text.isascii() and _HIDDEN.search(text):
        return "hides letters"
    for reading in readings(text):
        for told, rule in _RULES.items():
            if any(needle in reading for needle in _NEEDLES[told]) and rule.search(reading):
                return told
        if _orders_a_call(reading):
            return "orders a call"
    return None


def _orders_a_call(reading: str) -> bool:
    """Tell whether something is to be called: urged ("now call x"), or a tool by its name at the start of a sentence."""
    if any(verb in reading for verb in _OTHER_VERBS) and _OTHER_ORDER.search(reading):
        return True
    for verb in _VERBS:
        at = reading.find(verb)
        while at >= 0:
            if match := _ORDER.match(reading, at):
                before = reading[max(0, at - 40) : at]
                named = match[1] in ("tool", "werkzeug") or _STRONG.match(match[2] or "")
                if _URGED.search(before) or (named and _OWN.search(before)):
                    return True
            at = reading.find(verb, at + 1)
    return False


def notice_of(given: Iterable[tuple[Chunk, str]]) -> str | None:
    """Return what a person must know of texts that were given of chunks: that some of them address the model."""
    found = [(chunk, told) for chunk, text in given if (told := addresses_model(text))]
    if not found:
        return None
    chunk, told = found[0]
    place = f"{chunk.path}:{chunk.span.start_line}-{chunk.span.end_line}"
    others = f", and so do {len(found) - 1} more" if len(found) > 1 else ""
    return f"A place addresses the model: {place} {told}{others}. It is given as data; look at it before you trust an answer."
