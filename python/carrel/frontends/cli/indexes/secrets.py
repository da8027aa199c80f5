"""`carrel secrets`: what a file, or the files of a folder, hold of secrets, by place and kind. Never a value."""

from __future__ import annotations

from argparse import Namespace

from carrel.frontends.cli.questions.in_process import confirm_broad_folder, settings
from carrel.frontends.cli.terminal.folders import folder
from carrel.frontends.cli.terminal.output import Output
from carrel.frontends.common.event_loop import cancellable
from carrel.index.index_opening import secret_options, walk_options
from carrel.model.native import CancelToken, list_secrets


def run(arguments: Namespace, output: Output) -> int:
    """Look at every file that counts, and at nothing else; or at the one file that was named."""
    if arguments.path.is_file():
        root = arguments.path.absolute()
        chosen = settings(folder(root.parent), output)
    else:
        root = folder(arguments.path)
        chosen = settings(root, output)
        confirm_broad_folder(root, chosen)

    def work(token: CancelToken) -> list[tuple[str, int | None, str]]:
        return list_secrets(str(root), walk_options(chosen), secret_options(chosen), token)

    seen = cancellable(work)
    inside = sum(line is not None for _, line, _ in seen)
    if output.json:
        entries = [{"path": path, "line": line, "kind": kind} for path, line, kind in seen]
        output.value({"secrets": entries, "masked": inside, "filesLeftOut": len(seen) - inside})
        return 0
    for path, line, kind in seen:
        output.text(f"{path}: {kind}, left out" if line is None else f"{path}:{line}: {kind}, masked")
    output.note(f"{inside:,} values are masked, {len(seen) - inside:,} files are left out.")
    return 0
