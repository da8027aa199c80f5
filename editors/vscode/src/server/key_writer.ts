/** Keeps keys out of the language client, whose trace would write them into the log. */

import { randomUUID } from 'node:crypto';
import type { Message, MessageWriter } from 'vscode-languageclient/node';

const METHOD = 'carrel/key';

/** Writes messages as another writer does, but for `carrel/key`: there a key stands in place of the name that it was withheld under. */
export class KeyWriter implements MessageWriter {
  readonly #keys = new Map<string, string>();

  constructor(private readonly inner: MessageWriter) {}

  /** Send a request that holds a name in place of this key; the name means nothing afterwards. */
  async withheld<T>(key: string, send: (name: string) => Promise<T>): Promise<T> {
    const name = `withheld-${randomUUID()}`;
    this.#keys.set(name, key);
    try {
      return await send(name);
    } finally {
      this.#keys.delete(name);
    }
  }

  write(message: Message): Promise<void> {
    return this.inner.write(this.completed(message));
  }

  get onError(): MessageWriter['onError'] {
    return this.inner.onError;
  }

  get onClose(): MessageWriter['onClose'] {
    return this.inner.onClose;
  }

  end(): void {
    this.inner.end();
  }

  dispose(): void {
    this.inner.dispose();
  }

  /** A message of its own: the one that was given is traced. */
  private completed(message: Message): Message {
    const { method, params } = message as { readonly method?: string; readonly params?: { readonly key?: unknown } };
    const key = method === METHOD && typeof params?.key === 'string' ? this.#keys.get(params.key) : undefined;
    return key === undefined ? message : ({ ...message, params: { ...params, key } } as Message);
  }
}
