import assert from 'node:assert/strict';
import { findingLines, folderLines, providerLines, remedyFor, writerLine } from '../../src/commands/doctor_report';

describe('the doctor', () => {
  const remedy = (check: string, text: string, ours = true): string =>
    remedyFor({ check, level: 'warning', detail: '', remedy: text }, ours);

  it('advises what can be done in an installed extension', () => {
    assert.match(
      remedy('Native core', 'Reinstall Carrel with a wheel for this Python; from source: `make test`.'),
      /^Uninstall and install/,
    );
    assert.equal(
      remedy('Index', 'It is made by the first question, or by `carrel index`.'),
      'It is made by the first question, or by “Carrel: Index This Project”.',
    );
    assert.equal(
      remedy('Index', 'If nothing else helps: carrel clear /home/me/my shop'),
      'If nothing else helps: “Carrel: Clear the Index…”',
    );
    assert.match(
      remedy('Index folder', 'Make it writable, or set `cacheFolder` in your settings to a folder that is.'),
      /set the setting carrel\.cacheFolder to/,
    );
    assert.equal(remedy('Native core', 'Reinstall it.', false), 'Reinstall it.');
  });

  it('leaves out what only the command line needs, and who wrote the index while it looked', () => {
    const lines = findingLines(
      [
        { check: 'MCP', level: 'note', detail: 'not installed', remedy: 'For `carrel mcp`: "python" -m pip install "mcp>=2,<3"' },
        { check: 'Index', level: 'ok', detail: '3 files, 9 chunks, 0.1 MB in /cache; another Carrel process is writing it' },
      ],
      true,
    );
    assert.deepEqual(lines, ['- ✓ Index: 3 files, 9 chunks, 0.1 MB in /cache']);
  });

  it('says who writes the index', () => {
    const status = (role: 'writer' | 'follower'): Parameters<typeof writerLine>[0] =>
      ({ role }) as Parameters<typeof writerLine>[0];
    assert.match(writerLine(status('writer'), 7), /this window's server \(process 7\)/);
    assert.match(writerLine(status('follower'), 7), /another window or program/);
    assert.match(writerLine(undefined, undefined), /nobody at the moment/);
  });

  it('names what the editor settings use, and what the running server says is wrong', () => {
    const destination = { provider: 'cohere', host: 'api.cohere.com', local: false, allowed: false };
    const model = { role: 'reranker', provider: 'cohere', model: 'r', hasKey: false, requests: 0, tokens: 0, dollars: 0 };
    const inside = { ...model, role: 'embedder', provider: 'bundled', destinations: [] };
    const store = {
      kind: 'qdrant',
      place: 'http://127.0.0.1:1',
      destinations: [{ ...destination, local: true, allowed: true }],
      hasKey: false,
    };
    assert.deepEqual(providerLines({ models: [{ ...model, destinations: [destination] }, inside], store, known: {}, keys: [] }), [
      "- ! In use as reranker: cohere, r: not allowed yet, so it isn't asked → Run “Carrel: Test the Models”; no key found → Run “Carrel: Enter a Model's Key…”",
      '- · In use as store: qdrant, http://127.0.0.1:1',
    ]);
    const status = { role: 'writer', problems: ['Qdrant gave no answer. Restart it.'] } as unknown as Parameters<
      typeof writerLine
    >[0];
    assert.deepEqual(folderLines(status, 7).slice(1), ['- ! Qdrant gave no answer. Restart it.']);
  });
});
