/** What is known of the project memory at this moment: each folder's status, and the work that is going on. */

import { l10n } from 'vscode';
import type { StatusResult } from '../protocol';
import type { WorkProgress } from '../server/connection';

export interface Work {
  readonly title: string;
  readonly message: string;
  readonly percentage: number;
}

/** The server's "Indexing shop" in the editor's language. */
function workTitle(title: string): string {
  const name = /^Indexing (.+)$/.exec(title)?.[1];
  return name ? l10n.t('Indexing {0}', name) : title;
}

export class MemoryState {
  private readonly statuses = new Map<string, StatusResult>();
  private readonly works = new Map<string | number, Work>();

  /**
   * `carrel/statusChanged` is brief: it leaves what was left out and the lists of failed files out, so those known stay; and of an
   * index that isn't open yet it doesn't know whether there is one.
   */
  update(status: StatusResult, brief: boolean): void {
    if (brief && status.role === 'closed' && status.state === 'empty') return;
    const known = this.statuses.get(status.workspaceFolder);
    const failed = status.failedFiles && known ? known.failed : [];
    const leftOut = known?.leftOut ?? {};
    const whole = brief && known && status.files ? { ...status, skipped: known.skipped, leftOut, failed } : status;
    this.statuses.set(status.workspaceFolder, whole);
  }

  progress(token: string | number, progress: WorkProgress): void {
    if (progress.kind === 'end') {
      this.works.delete(token);
      return;
    }
    const before = this.works.get(token);
    this.works.set(token, {
      title: progress.kind === 'begin' ? workTitle(progress.title) : (before?.title ?? l10n.t('Indexing')),
      message: progress.message ?? before?.message ?? '',
      percentage: progress.percentage ?? before?.percentage ?? 0,
    });
  }

  /** The server has gone, and its work with it. The index on disk is as it was. */
  forgetWork(): void {
    this.works.clear();
    for (const [folder, status] of this.statuses)
      if (status.state === 'indexing') this.statuses.set(folder, { ...status, state: status.files ? 'ready' : 'empty' });
  }

  /** Folders that were closed are forgotten. */
  keep(open: (status: StatusResult) => boolean): void {
    for (const [folder, status] of this.statuses) if (!open(status)) this.statuses.delete(folder);
  }

  status(folder: string): StatusResult | undefined {
    return this.statuses.get(folder);
  }

  get all(): readonly StatusResult[] {
    return [...this.statuses.values()];
  }

  get tokens(): readonly (string | number)[] {
    return [...this.works.keys()];
  }

  get work(): Work | undefined {
    return [...this.works.values()].at(-1);
  }

  get indexing(): boolean {
    return this.works.size > 0 || this.all.some(status => status.state === 'indexing');
  }
}
