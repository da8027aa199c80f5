import assert from 'node:assert/strict';
import { findingLines, remedyFor, writerLine } from '../../src/commands/doctor_report';

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
});
