/** The keys of providers, in the editor's secret storage; a server is given them for as long as it runs. */

import { l10n, type SecretStorage } from 'vscode';

/** One secret for all: the storage can't be asked which secrets it holds. */
const SECRET = 'carrel.keys';

/** A server that takes keys; without one it forgets the provider's. */
export interface KeyReceiver {
  giveKey(provider: string, key?: string): Promise<unknown>;
}

export class Keys {
  readonly #storage: SecretStorage;
  readonly #given = new WeakMap<KeyReceiver, Map<string, string>>();
  #last: Promise<void> = Promise.resolve();

  constructor(storage: SecretStorage) {
    this.#storage = storage;
  }

  /** Whose keys are here. */
  async providers(): Promise<string[]> {
    return [...(await this.#all()).keys()].sort();
  }

  async set(provider: string, key: string): Promise<void> {
    await this.#store((await this.#all()).set(provider, key));
  }

  async remove(provider: string): Promise<void> {
    const keys = await this.#all();
    if (keys.delete(provider)) await this.#store(keys);
  }

  /** Give a server what it lacks, and have it forget what was removed. One call after the other, so that the last change counts. */
  handOver(receiver: KeyReceiver): Promise<void> {
    const handed = this.#last.then(() => this.#handOver(receiver));
    this.#last = handed.catch(() => undefined);
    return handed;
  }

  async #handOver(receiver: KeyReceiver): Promise<void> {
    const keys = await this.#all();
    const given = this.#given.get(receiver) ?? new Map<string, string>();
    this.#given.set(receiver, given);
    for (const provider of [...given.keys()].filter(one => !keys.has(one))) {
      await receiver.giveKey(provider);
      given.delete(provider);
    }
    for (const [provider, key] of keys) {
      if (given.get(provider) === key) continue;
      await receiver.giveKey(provider, key);
      given.set(provider, key);
    }
  }

  async #store(keys: ReadonlyMap<string, string>): Promise<void> {
    if (keys.size) await this.#storage.store(SECRET, JSON.stringify(Object.fromEntries(keys)));
    else await this.#storage.delete(SECRET);
  }

  async #all(): Promise<Map<string, string>> {
    return decoded(await this.#storage.get(SECRET));
  }
}

/** What can't be read holds no keys: they are entered again. */
function decoded(text: string | undefined): Map<string, string> {
  try {
    const found: unknown = JSON.parse(text ?? '{}');
    const rows = Object.entries(found as Record<string, unknown>);
    return new Map(rows.filter((row): row is [string, string] => typeof row[1] === 'string'));
  } catch {
    return new Map();
  }
}

/** What is wrong with a text that shall be a key; it goes into the header of a request. Never repeats it. */
export function keyProblem(text: string): string | undefined {
  const key = text.trim();
  if (!key) return l10n.t('Paste the key');
  return /^[\x21-\x7e]{1,4096}$/.test(key) ? undefined : l10n.t('A key has no spaces, line ends or special characters');
}
