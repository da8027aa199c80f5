"""A question in another language asks for the words that code is written in; English ones are left as they are."""

from __future__ import annotations

import pytest
from tests.support.texts import ask, indexed, paths

from carrel.question.languages import in_english
from carrel.question.query_words import read

CODE = {
    "src/uploads.py": "def upload_file(request):\n    '''Store an uploaded file.'''\n    return request.files['file'].save()\n",
    "src/timeouts.py": "def connection_timeout(config):\n    '''Read a connection's timeout.'''\n    return config.timeout\n",
    "src/sessions.py": "class SessionStore:\n    def expire_session(self, user):\n        return self.sessions.pop(user)\n",
    "docs/les.md": "# Les\n\nCe que les utilisateurs font dans le navigateur avec les pages.\n",
}


@pytest.mark.parametrize(
    ("question", "path"),
    [
        ("wo wird das Zeitlimit der Verbindung gelesen", "src/timeouts.py"),
        ("où est lu le délai d'expiration de la connexion", "src/timeouts.py"),
        ("dónde se lee el tiempo de espera de la conexión", "src/timeouts.py"),
        ("连接超时在哪里读取", "src/timeouts.py"),
        ("где читается таймаут соединения", "src/timeouts.py"),
        ("wie werden Dateien hochgeladen", "src/uploads.py"),
        ("cómo se sube un archivo", "src/uploads.py"),
        ("文件上传如何保存", "src/uploads.py"),
        ("was macht SessionStore beim Abmelden?", "src/sessions.py"),
        ("что делает expire_session", "src/sessions.py"),
        ("comment les utilisateurs font dans le navigateur", "docs/les.md"),
    ],
)
def test_what_is_meant_is_found(question: str, path: str) -> None:
    assert paths(ask(indexed(CODE), question))[0] == path


@pytest.mark.parametrize(
    "question",
    [
        "how does a session expire",
        "JSON response rendering",
        "des encryption in the openssl backend",
        "es module interop",
        "la la land",
        "die() handler of the process",
        "naïve Bayes classifier",
        "resume upload for a café menu",
        "Ωmega factor µ",
        "ファイルを開く関数",
        "",
    ],
)
def test_other_questions_are_left_as_they_are(question: str) -> None:
    assert in_english(question, frozenset("how does a for the in of".split())) is None  # noqa: SIM905
    assert read(question).text == question


def test_names_and_code_stay_as_they_are() -> None:
    meant = read("wo ist in src/auth.py der Aufruf von `get_user` der Klasse HTTPServer2 über std::mem::swap")
    for name in ("`get_user`", "src/auth.py", "HTTPServer2", "std::mem::swap"):
        assert name in meant.text
    assert {"get_user", "swap"} <= set(meant.names)
    assert "call" in meant.words
    assert "class" in meant.words


def test_a_name_that_is_an_elided_word_stays() -> None:
    assert {"state", "s", "update"} <= set(read("状态 s' 在哪里更新").search_text.split())


def test_compounds_and_phrases_are_taken_apart() -> None:
    assert {"database", "operation"} <= set(read("wie laufen Datenbankoperationen ab").search_text.split())
    assert read("où est la base de données").text == "database"


def test_what_the_glossary_lacks_is_searched_for_as_it_stands() -> None:
    asked = read("где лежит кракозябра файла")
    assert "кракозябра" in asked.text
    assert "file" in asked.text
    assert {"кракозябра", "файла"} <= set(asked.search_text.split())
    assert asked.quoted == "где лежит кракозябра файла"
