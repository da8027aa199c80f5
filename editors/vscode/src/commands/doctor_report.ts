/** The doctor's report as text. Pure: tested without an editor. */

import { inEditor } from '../memory/labels';
import type { ProvidersResult, StatusResult } from '../protocol';

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

/** What a server that runs says itself, by the editor's settings as well. */
const IN_USE: ReadonlySet<string> = new Set(['Embedder', 'Reranker', 'Chat', 'Planner', 'Vector store']);

/** A line for each finding that says something to somebody in an editor. */
export function findingLines(findings: readonly Finding[], ours: boolean, running = false): string[] {
  return findings
    .filter(({ check, level }) => !(ours && level === 'note' && ELSEWHERE.has(check)) && !(running && IN_USE.has(check)))
    .map(finding => {
      const remedy = remedyFor(finding, ours);
      const detail =
        finding.check === 'Index' ? finding.detail.replace(/; (written by|another Carrel|read as)[^;]*$/, '') : finding.detail;
      return `- ${SIGNS[finding.level]} ${finding.check}: ${detail}${remedy ? ` → ${remedy}` : ''}`;
    });
}

/** What the editor's settings name beside what runs inside the server: the server's doctor, a program of its own, doesn't know them. */
export function providerLines({ models, store }: ProvidersResult): string[] {
  const used = [...models, { ...store, role: 'store', provider: store.kind, model: store.place, lastError: undefined }];
  return used
    .filter(({ destinations, problem }) => destinations.length || problem)
    .map(({ role, provider, model, destinations, hasKey, problem, lastError }) => {
      const allowed = destinations.every(one => one.allowed);
      const local = destinations.every(one => one.local);
      const wrong = problem ?? (allowed ? lastError : "not allowed yet, so it isn't asked → Run “Carrel: Test the Models”");
      const key = hasKey || local ? '' : "; no key found → Run “Carrel: Enter a Model's Key…”";
      const name = [provider, model].filter(Boolean).join(', ');
      return `- ${wrong || key ? SIGNS.warning : SIGNS.note} In use as ${role}: ${name}${wrong ? `: ${wrong}` : ''}${key}`;
    });
}

/** Who writes the index of a folder, and what is wrong with it by the server that has it open. */
export function folderLines(status: StatusResult | undefined, pid: number | undefined): string[] {
  return [writerLine(status, pid), ...(status?.problems ?? []).map(problem => `- ${SIGNS.warning} ${inEditor(problem)}`)];
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
