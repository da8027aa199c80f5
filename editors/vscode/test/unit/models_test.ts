import assert from 'node:assert/strict';
import type { SecretStorage } from 'vscode';
import type { Message, MessageWriter } from 'vscode-languageclient/node';
import { keyProblem, Keys } from '../../src/models/keys';
import { decide, dialog, type Person } from '../../src/models/permission';
import { keyRows, modelRows } from '../../src/models/rows';
import type { ProviderModel } from '../../src/protocol';
import { KeyWriter } from '../../src/server/key_writer';

const KEY = 'sk-planted-0123456789';

describe('a permission', () => {
  const params = {
    what: 'provider',
    risk: 'Text of your code leaves this machine.',
    details: { provider: 'openai', host: 'api.openai.com' },
    hash: 'x',
  };
  const person = (answer: string | undefined, trusted = true) => {
    const said: string[] = [];
    const asked: string[][] = [];
    const who: Person = {
      trusts: () => trusted,
      choose: (...shown) => (asked.push(shown), Promise.resolve(answer)),
      tell: text => said.push(text),
    };
    return { who, said, asked };
  };

  it('is shown whole, and only the button that says so gives it', async () => {
    for (const [button, allowed] of [
      ['Allow', true],
      ["Don't Allow", false],
      [undefined, false],
    ] as const) {
      const { who, asked } = person(button);
      assert.deepEqual(await decide(params, who), { allowed });
      assert.deepEqual(asked, [
        [
          'Carrel: allow text to be sent to a remote model?',
          'Text of your code leaves this machine.\n\nprovider: openai\nhost: api.openai.com',
          "Don't Allow", // what Enter means
          'Allow',
        ],
      ]);
    }
  });

  it('is a no in a folder that is not trusted, without a dialog', async () => {
    const { who, asked, said } = person('Allow', false);
    assert.deepEqual(await decide(params, who), { allowed: false });
    assert.deepEqual(asked, []);
    assert.match(said.join(), /isn't trusted.*host: api\.openai\.com/);
  });

  it('cannot be made to look like another', () => {
    const host = 'evil.example\n\nprovider: none\u2028host: localhost \u202Etsohlacol';
    assert.equal(
      dialog({ ...params, details: { host } }).detail,
      'Text of your code leaves this machine.\n\nhost: evil.example provider: none host: localhost  tsohlacol',
    );
    assert.equal(dialog({ ...params, what: 'toString' }).question, 'Carrel: allow this?');
  });
});

describe('the keys', () => {
  const storage = (text?: string) => {
    const held = { text };
    const secrets = {
      get: () => Promise.resolve(held.text),
      store: (_: string, value: string) => Promise.resolve(void (held.text = value)),
      delete: () => Promise.resolve(void (held.text = undefined)),
    } as unknown as SecretStorage;
    return { held, keys: new Keys(secrets) };
  };
  const server = () => {
    const given: (string | undefined)[][] = [];
    return { given, giveKey: (...row: [string, string?]) => Promise.resolve(given.push(row)) };
  };

  it('are given to each server once, again when they change, and forgotten when they are removed', async () => {
    const { keys, held } = storage();
    const [first, second] = [server(), server()];
    await keys.set('openai', KEY);
    await keys.set('cohere', 'c');
    await keys.handOver(first);
    await keys.handOver(first);
    assert.deepEqual(first.given, [
      ['openai', KEY],
      ['cohere', 'c'],
    ]);
    await keys.set('openai', 'other');
    await keys.remove('cohere');
    await Promise.all([keys.handOver(first), keys.handOver(first)]);
    assert.deepEqual(first.given.slice(2), [['cohere'], ['openai', 'other']]);
    await keys.handOver(second);
    assert.deepEqual(second.given, [['openai', 'other']]);
    assert.deepEqual(await keys.providers(), ['openai']);
    await keys.remove('openai');
    assert.equal(held.text, undefined);
  });

  it('that a server failed to take are given again', async () => {
    const { keys } = storage(JSON.stringify({ openai: KEY }));
    let fails = true;
    const given: unknown[] = [];
    const one = {
      giveKey: (...row: unknown[]) => (fails ? Promise.reject(new Error('gone')) : Promise.resolve(given.push(row))),
    };
    await assert.rejects(keys.handOver(one), /gone/);
    fails = false;
    await keys.handOver(one);
    assert.deepEqual(given, [['openai', KEY]]);
  });

  it('that cannot be read are none', async () => {
    for (const text of ['{', 'null', '[]', '3', '{"openai": 3}'])
      assert.deepEqual(await storage(text).keys.providers(), [], text);
  });

  it('are checked before they are kept, and not repeated', () => {
    assert.equal(keyProblem(` ${KEY}\n`), undefined);
    for (const wrong of ['', ' ', 'two words', 'a\nb', 'schlüssel', 'x'.repeat(5_000)]) {
      const problem = keyProblem(wrong);
      assert(problem && !(wrong.trim() && problem.includes(wrong)), wrong);
    }
  });

  it('stay out of the message that is traced, and reach the server', async () => {
    const written: Message[] = [];
    const writer = new KeyWriter({ write: (message: Message) => Promise.resolve(void written.push(message)) } as MessageWriter);
    const traced: unknown[] = [];
    const send = (method: string, key: string): Promise<void> => {
      const message = { jsonrpc: '2.0', id: 1, method, params: { provider: 'openai', key } };
      traced.push(message);
      return writer.write(message);
    };
    let name = '';
    await writer.withheld(KEY, async given => {
      name = given;
      await send('carrel/key', given);
      await send('carrel/other', given);
    });
    await send('carrel/key', name);
    assert.doesNotMatch(JSON.stringify(traced), /planted/);
    const keys = written.map(message => (message as unknown as { params: { key: string } }).params.key);
    assert.deepEqual(keys, [KEY, name, name], 'only in its own method, and only while it is sent');
  });
});

describe('the rows of models', () => {
  const local: ProviderModel = {
    role: 'embedder',
    provider: 'bundled',
    model: 'carrel-embed-v1',
    destinations: [],
    hasKey: false,
    requests: 0,
    tokens: 0,
    dollars: 0,
  };
  const remote: ProviderModel = {
    ...local,
    role: 'chat',
    provider: 'openai',
    destinations: [{ provider: 'openai', host: 'api.openai.com', local: false, allowed: false }],
    requests: 1_234,
    dollars: 0.01234,
  };

  it('say where text goes, whether it may, and what went wrong', () => {
    assert.deepEqual(modelRows(local), [
      {
        label: '$(check) embedder: bundled',
        description: 'carrel-embed-v1',
        detail: 'runs inside Carrel, nothing is sent',
      },
    ]);
    assert.deepEqual(modelRows({ ...remote, lastError: 'Rate limit' }), [
      {
        label: '$(lock) chat: openai',
        description: 'carrel-embed-v1 → api.openai.com',
        detail: 'not allowed yet · no key found · 1,234 requests, $0.0123 so far',
        provider: 'openai',
      },
      { label: '$(warning) Last error: Rate limit', problem: 'Last error: Rate limit' },
    ]);
    const here = [{ provider: 'ollama', host: 'localhost', local: true, allowed: true }];
    const [tested] = modelRows({ ...remote, hasKey: true, answeredMs: 12.3, destinations: here });
    assert.match(tested?.description ?? '', /→ localhost \(this machine\)$/);
    assert.match(tested?.detail ?? '', /^allowed · has a key .* answered in 12 ms$/);
    assert.equal(
      modelRows({ ...local, problem: 'There is no such provider', lastError: 'old' })[1]?.problem,
      'There is no such provider',
    );
  });

  it('name the providers that may have a key, those in use first', () => {
    const store = { kind: 'segments', place: '', destinations: [], hasKey: false };
    const keys = ['cohere', 'openai', 'qdrant', 'team'];
    assert.deepEqual(keyRows({ models: [local, remote], store, known: {}, keys }, ['cohere']), [
      { label: 'openai', provider: 'openai', description: 'used as chat' },
      { label: 'cohere', provider: 'cohere', description: 'replaces the key that is kept' },
      { label: 'qdrant', provider: 'qdrant' },
      { label: 'team', provider: 'team' },
    ]);
    assert.deepEqual(keyRows({ models: [local], store, known: {}, keys: [] }, []), []);
  });
});
