import assert from 'node:assert/strict';
import { Backoff } from '../../src/server/backoff';

describe('waiting before a new start', () => {
  it('grows, and ends', () => {
    const backoff = new Backoff();
    const delays = Array.from({ length: 6 }, () => backoff.next(100));
    assert.equal(delays.at(-1), undefined);
    const waits = delays.slice(0, -1).map(Number);
    assert.deepEqual(
      waits,
      waits.toSorted((a, b) => a - b),
    );
  });

  it('begins anew after a long healthy run, and when a person asks', () => {
    const backoff = new Backoff();
    const first = backoff.next(100);
    backoff.next(100);
    assert.equal(backoff.next(3_600_000), first);
    backoff.reset();
    assert.equal(backoff.next(100), first);
  });
});
