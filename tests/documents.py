"""Documents as a team has them, in the kinds that Carrel reads, and the smallest real PDF and Word files."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

RUNBOOK = """---
title: Phoenix server
version: 3
updated_at: 2026-05-04
---
# Phoenix server

Phoenix serves the payment pages. It runs on two hosts behind the load balancer.

## Restart protocol

1. Take the host off the load balancer.
2. Restart the service with `systemctl restart phoenix`.
3. Put the host back on the load balancer when /healthz answers.

## Backup

The database of Phoenix is dumped every night at two and moved to the vault.
"""
FILES = {
    "phoenix.md": RUNBOOK,
    "archive/phoenix-v2.md": RUNBOOK.replace("version: 3", "version: 2").replace("2026-05-04", "2021-02-03"),
    "onboarding.txt": (
        "New colleagues get a laptop on their first day. Their mentor orders the access cards a week before, at the desk of "
        "facility management.\n"
    ),
    "atlas.html": (
        "<html><head><title>Atlas failover</title><script>var hidden_script = 1;</script></head><body><h1>Atlas failover</h1>"
        "<p>When the Atlas cluster loses its leader, promote the replica in Dublin by hand.</p></body></html>"
    ),
    "keys.md": "# Keys\n\nThe deploy key of the shop is AKIAQYLPMN5HHHFPZAM2 and is rotated by the platform team.\n",
    "tool.py": "def never_indexed_here():\n    return 'code is no document'\n",
}


def pdf(text: str) -> bytes:
    """Return a PDF of one page with this line."""
    stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    out, offsets = io.BytesIO(), []
    out.write(b"%PDF-1.4\n")
    for number, body in enumerate(objects, 1):
        offsets.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    table = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    out.writelines(b"%010d 00000 n \n" % offset for offset in offsets)
    out.write(b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, table))
    return out.getvalue()


def word(heading: str, text: str) -> bytes:
    """Return a Word document with a heading and a paragraph."""
    space = "http://schemas.openxmlformats.org"
    parts = {
        "[Content_Types].xml": (
            f'<Types xmlns="{space}/package/2006/content-types"><Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/word/document.xml" '
            'ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
        ),
        "_rels/.rels": (
            f'<Relationships xmlns="{space}/package/2006/relationships"><Relationship Id="r1" '
            f'Type="{space}/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>'
        ),
        "word/styles.xml": (
            f'<w:styles xmlns:w="{space}/wordprocessingml/2006/main"><w:style w:type="paragraph" w:styleId="Heading1">'
            '<w:name w:val="heading 1"/></w:style></w:styles>'
        ),
        "word/_rels/document.xml.rels": (
            f'<Relationships xmlns="{space}/package/2006/relationships"><Relationship Id="s1" '
            f'Type="{space}/officeDocument/2006/relationships/styles" Target="styles.xml"/></Relationships>'
        ),
        "word/document.xml": (
            f'<w:document xmlns:w="{space}/wordprocessingml/2006/main"><w:body><w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr>'
            f"<w:r><w:t>{heading}</w:t></w:r></w:p><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:body></w:document>"
        ),
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, body in parts.items():
            archive.writestr(name, body)
    return out.getvalue()


def write_documents(root: Path, *, converted: bool = True) -> Path:
    """Make a folder of documents; what a program each converts is left out where it doesn't matter."""
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    if not converted:
        (root / "atlas.html").unlink()
        return root
    (root / "vendor-contract.pdf").write_bytes(pdf("The contract with Globex ends in March and must be renewed by legal."))
    (root / "leave.docx").write_bytes(word("Parental leave", "Parental leave is requested eight weeks ahead at the people team."))
    (root / "broken.pdf").write_bytes(b"%PDF-1.4 but nothing of a document follows")
    return root
