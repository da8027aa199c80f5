/** `Carrel: Doctor`: what was looked for as a server, and what the server's own doctor finds. */

import { execFile } from 'node:child_process';
import * as vscode from 'vscode';
import { localFolders } from '../memory/memory';
import type { Located } from '../server/locate';
import type { Supervisor } from '../server/supervisor';

interface Finding {
  readonly check: string;
  readonly level: 'ok' | 'note' | 'warning' | 'error';
  readonly detail: string;
  readonly remedy?: string | null;
}

const SIGNS = { ok: '✓', note: '·', warning: '!', error: '✗' } as const;

/** Gives the report, which it also shows. */
export async function doctor(find: () => Promise<Located>, server: Supervisor, folder: string): Promise<string> {
  const found = await find();
  const lines = ['# Carrel: Doctor', '', `- Server: ${describe(server)}`, ...found.tried.map(line => `- ${SIGNS.note} ${line}`)];
  if (found.launch) {
    lines.push(`- ${SIGNS.ok} Chosen: ${found.launch.description}`);
    const places = localFolders().map(({ uri }) => uri.fsPath);
    for (const place of places.length ? places : [folder])
      lines.push('', `## ${place}`, '', ...(await examine(found.launch, folder, place)));
  } else {
    lines.push(`- ${SIGNS.error} No server can be started. ${found.remedy}`);
  }
  const text = lines.join('\n') + '\n';
  const document = await vscode.workspace.openTextDocument({ language: 'markdown', content: text });
  await vscode.window.showTextDocument(document, { preview: true });
  return text;
}

function describe(server: Supervisor): string {
  const { state } = server;
  switch (state.kind) {
    case 'running':
      return `runs (version ${state.version}, process ${String(state.pid)})`;
    case 'failed':
      return `${state.problem} ${state.remedy}`;
    case 'waiting':
      return `${state.reason}; it starts again in a moment`;
    case 'starting':
      return 'starts';
    case 'stopped':
      return "isn't running; it starts when it is needed";
  }
}

async function examine(launch: NonNullable<Located['launch']>, folder: string, place: string): Promise<string[]> {
  const args = [...launch.args.slice(0, -1), 'doctor', place, '--json']; // in place of `serve`
  const output = await new Promise<string>(resolve => {
    // The exit code says whether something is broken; the findings say what.
    execFile(launch.command, args, { cwd: folder, env: { ...process.env, ...launch.env }, timeout: 60_000 }, (error, stdout) =>
      resolve(stdout || (error?.message ?? '')),
    );
  });
  try {
    const { findings } = JSON.parse(output) as { findings: readonly Finding[] };
    return findings.map(
      ({ check, level, detail, remedy }) => `- ${SIGNS[level]} ${check}: ${detail}${remedy ? ` → ${remedy}` : ''}`,
    );
  } catch {
    return [`- ${SIGNS.error} The server's own doctor gave no report: ${output.trim().slice(-500)}`];
  }
}
