/** The words of `/review`. */

import type { ReviewAnswer } from '../protocol';

export const HOW_TO_REVIEW = [
  'Describe the issue: its title in the first line, what else is known below. For example:',
  '',
  '> `@carrel /review Logins of users with umlauts fail`',
  '',
  'The model that you selected searches the project, then says what the issue takes.',
].join('\n');

/** The first line is the title, the rest the body. */
export function issueOf(prompt: string): { readonly title: string; readonly body: string } {
  const [title = '', ...rest] = prompt.trim().split(/\r?\n/);
  return { title: title.trim(), body: rest.join('\n').trim() };
}

export function reviewText({
  summary,
  difficultyScore,
  recommendedLevel,
  conceptsRequired,
  mentoringAdvice,
}: ReviewAnswer): string {
  const dots = '●'.repeat(difficultyScore) + '○'.repeat(5 - difficultyScore);
  const concepts = conceptsRequired.map(concept => `- ${concept}\n`).join('');
  return [
    summary,
    `**Difficulty:** ${dots} ${difficultyScore} of 5 · **Recommended level:** ${recommendedLevel}`,
    ...(concepts ? [`**What one must know**\n\n${concepts}`] : []),
    `**Advice**\n\n${mentoringAdvice}`,
  ].join('\n\n');
}

/** What the model said instead of a review, as it stands. */
export function unusableText(problem: string, raw: string): string {
  let longest = 2;
  for (const [run] of raw.matchAll(/`+/g)) longest = Math.max(longest, run.length);
  const fence = '`'.repeat(longest + 1);
  const said = raw.trim() ? `This is what it said:\n\n${fence}text\n${raw}\n${fence}\n` : 'It said nothing.';
  return `The model's answer is no review, and asking again didn't help: ${problem}. ${said}`;
}
