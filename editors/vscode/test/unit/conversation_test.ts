import assert from 'node:assert/strict';
import { conversation, withPlaces } from '../../src/chat/conversation';
import { historyRoom, smallerBudget, wording } from '../../src/chat/prompt';

describe('the conversation so far', () => {
  const turns = (...exchanges: [string, string][]): string[] =>
    conversation(
      exchanges.map(([asked, said]) => ({ asked, said })),
      100,
    ).map(({ role, content }) => `${role}: ${content}`);

  it('is what was asked and said, without turns in which no model was asked', () => {
    assert.deepEqual(turns(['q1', 'a1'], ['', ''], ['cancelled', ''], ['q2', 'a2']), [
      'user: q1',
      'assistant: a1',
      'user: cancelled',
      'user: q2',
      'assistant: a2',
    ]);
  });

  it('leaves out the oldest turns where there is no room, and cuts none', () => {
    assert.deepEqual(turns(['old', 'x'.repeat(60)], ['q', 'y'.repeat(50)]), ['user: q', `assistant: ${'y'.repeat(50)}`]);
    assert.deepEqual(turns(['q', 'y'.repeat(200)]), []);
  });

  it('names places in words, once', () => {
    assert.equal(withPlaces('why?', 'attached', ['a.py:1-4', 'a.py:1-4']), 'why?\n\n(attached: a.py:1-4)');
    assert.equal(withPlaces('why a.py:1-4?', 'attached', ['a.py:1-4']), 'why a.py:1-4?');
  });
});

describe('the prompt', () => {
  it('follows the window of the model', () => {
    assert.equal(smallerBudget({ chars: 4_000 }, 100_000), undefined);
    assert.deepEqual(smallerBudget({ chars: 4_000 }, 4_000), { tokens: 1_000 });
    assert.deepEqual(smallerBudget({ tokens: 3_000 }, 8_000), { tokens: 2_000 });
    assert.equal(historyRoom(8_000), 12_000);
  });

  it('of a command without words asks for the selection, which goes with it by itself', () => {
    assert.deepEqual(wording('', 'explain', 'x = 1'), {
      text: 'Explain the selected code.',
      query: 'Explain this code:\n\nx = 1',
    });
    assert.deepEqual(wording('why?', 'explain', 'x = 1'), { text: 'why?', query: 'why?' });
    assert.equal(wording(' ', 'explain', ''), undefined);
    assert.equal(wording('', 'docs', 'x = 1'), undefined);
  });
});
