"""Words that mean much the same where tools are concerned: one asks for "mail", and the tool is called `search_gmail_messages`.

A word may stand in several lines. Written for the requests whose servers were not kept aside (docs/quality.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from carrel.model.native import stem

_GROUPS = """
create add make new insert build generate start write draw put
create register open new schedule plan scaffold
delete remove drop erase clear clean destroy forget purge uninstall empty discard
get show read view retrieve fetch give describe inspect display info details state status value
list show which what enumerate available all exist every there who
search find look query lookup discover locate
update change edit modify adjust set rename alter patch put configure close turn switch convert
transition status done close reopen move
run execute start launch trigger begin invoke perform call test
stop cancel end abort terminate kill halt pause quit
send post publish write answer reply deliver
move transfer relocate migrate rename
download save export get fetch pull store
upload attach add import load push
validate check verify lint test valid correct mistake error
watch watcher monitor follow track notify subscribe observe change
count number many often total dbsize
size big large long storage length
explain plan slow why performance
schema field column type structure mapping property
access allow permission allowed right may share
email mail gmail message inbox
event meeting appointment calendar schedule
out office holiday vacation absent away
image picture photo screenshot media png jpg
folder directory path
file document disk
web url site website page link internet http
simulator sim emulator
person people user member colleague contact who
machine resource instance computer server host class
night nightly daily schedule cron regular periodic
task todo item work subtask
ticket issue bug story
appearance dark light mode theme
sensor entity device thermostat
rule conditional format condition highlight colour color
validation valid allow restrict
comment note discussion remark thread
block child content paragraph
log output record
key secret token credential
restart rerun retry again repeat
undo revert rollback back reset unstage
compare diff difference changed
author blame wrote owner
money cost price bill usage spend
ip address network access
document doc text
spreadsheet sheet excel workbook cell
slide deck presentation powerpoint
branch fork
newest latest recent last
simulate would allowed policy
restriction restrict permission allowed may validation limit
info metadata property attribute size big changed modified created
metric cpu memory load usage utilization performance statistics
append add insert patch attach
publish release announce create
fetch download scrape extract crawl url web page content
"""


@lru_cache(maxsize=1)
def concepts() -> Mapping[str, frozenset[int]]:
    """Return by stem the numbers of the groups that a word belongs to."""
    found: dict[str, set[int]] = {}
    for number, line in enumerate(_GROUPS.strip().split("\n")):
        for word in line.split():
            found.setdefault(stem(word), set()).add(number)
    return {word: frozenset(numbers) for word, numbers in found.items()}
