import assert from 'node:assert/strict';
import { issueOf, reviewText, unusableText } from '../../src/chat/review_text';

describe('the words of a review', () => {
  it('take the first line for the title', () => {
    assert.deepEqual(issueOf('  Login fails \r\n\r\nSince yesterday.\nFor all.\n'), {
      title: 'Login fails',
      body: 'Since yesterday.\nFor all.',
    });
    assert.deepEqual(issueOf(' \n '), { title: '', body: '' });
  });

  it('show every part, and no empty one', () => {
    const review = {
      summary: 'Fold names.',
      difficultyScore: 2,
      recommendedLevel: 'Senior+',
      conceptsRequired: ['Unicode', 'SQL'],
      mentoringAdvice: 'Begin at src/auth.py:1-4.',
      chunksUsed: 3,
    } as const;
    const text = reviewText(review);
    assert.match(text, /^Fold names\.\n\n\*\*Difficulty:\*\* ●●○○○ 2 of 5 · \*\*Recommended level:\*\* Senior\+\n/);
    assert.match(text, /- Unicode\n- SQL\n[^]*Begin at src\/auth\.py:1-4\.$/);
    assert.doesNotMatch(reviewText({ ...review, conceptsRequired: [] }), /must know/);
  });

  it('keep what is no review in its block', () => {
    const text = unusableText('summary is missing', 'a\n```\n# Big\n`````\n');
    assert.match(text, /summary is missing\. This is what it said:\n\n``````text\na\n```\n# Big\n`````\n\n``````\n$/);
    assert.match(unusableText('nothing', ' '), /It said nothing\.$/);
  });
});
