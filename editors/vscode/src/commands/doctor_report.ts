/** The doctor's report as text. Pure: tested without an editor. */

import { inEditor } from '../memory/labels';
import type { StatusResult } from '../protocol';

export interface Finding {
  readonly check: string;
  readonly level: 'ok' | 'note' | 'warning' | 'error';
  readonly detail: string;
  readonly remedy?: string | null;
}

export const SIGNS = { ok: '✓', note: '·', warning: '!', error: '✗' } as const;

/** What only the command line and other programs need: the extension brings what it needs itself. */
const ELSEWHERE: ReadonlySet<string> = new Set(['More languages', 'MCP', 'Chat proxy']);

const REINSTALL = 'Uninstall and install the Carrel extension again, for this platform; then run “Developer: Reload Window”.';

/** What to do in an installed extension, where there is neither pip nor a checkout. `ours`: the server came with the extension. */
export function remedyFor({ check, remedy }: Finding, ours: boolean): string {
  if (!remedy) return '';
  if (ours && ['Packages', 'Native core'].includes(check)) return REINSTALL;
  if (ours && check === 'Python')
    return 'Run “Carrel: Get Python”, or choose a Python 3.11 to 3.14 with the setting carrel.server.python.';
  return inEditor(remedy)
    .replace(/carrel clear \S.*$/, '“Carrel: Clear the Index…”')
    .replace(/`cacheFolder`( in your settings)?/, 'the setting carrel.cacheFolder')
    .replace(/`carrel doctor --json`/, 'this command')
    .replace(/^ulimit (.*)$/, 'Start the editor from a terminal after `ulimit $1`.');
}

/** A line for each finding that says something to somebody in an editor. */
export function findingLines(findings: readonly Finding[], ours: boolean): string[] {
  return findings
    .filter(({ check, level }) => !(ours && level === 'note' && ELSEWHERE.has(check)))
    .map(finding => {
      const remedy = remedyFor(finding, ours);
      const detail =
        finding.check === 'Index' ? finding.detail.replace(/; (written by|another Carrel|read as)[^;]*$/, '') : finding.detail;
      return `- ${SIGNS[finding.level]} ${finding.check}: ${detail}${remedy ? ` → ${remedy}` : ''}`;
    });
}

/** Who writes the index of a folder. */
export function writerLine(status: StatusResult | undefined, pid: number | undefined): string {
  switch (status?.role) {
    case 'writer':
      return `- ${SIGNS.ok} Written by: this window's server (process ${String(pid)})`;
    case 'follower':
      return `- ${SIGNS.ok} Written by: another window or program with a Carrel server; this window reads it as it grows, and takes over when that one ends`;
    default:
      return `- ${SIGNS.note} Written by: nobody at the moment; the next server that needs it`;
  }
}
