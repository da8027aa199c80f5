/** The words of `/review`. */

import { l10n } from 'vscode';
import type { ReviewAnswer } from '../protocol';

export const HOW_TO_REVIEW = [
  l10n.t('Describe the issue: its title in the first line, what else is known below. For example:'),
  '',
  `> \`@carrel /review ${l10n.t('Logins of users with umlauts fail')}\``,
  '',
  l10n.t('The model that you selected searches the project, then says what the issue takes.'),
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
    l10n.t('**Difficulty:** {0} {1} of 5 · **Recommended level:** {2}', dots, difficultyScore, recommendedLevel),
    ...(concepts ? [`**${l10n.t('What one must know')}**\n\n${concepts}`] : []),
    `**${l10n.t('Advice')}**\n\n${mentoringAdvice}`,
  ].join('\n\n');
}

/** What the model said instead of a review, as it stands. */
export function unusableText(problem: string, raw: string): string {
  let longest = 2;
  for (const [run] of raw.matchAll(/`+/g)) longest = Math.max(longest, run.length);
  const fence = '`'.repeat(longest + 1);
  const said = raw.trim() ? `${l10n.t('This is what it said:')}\n\n${fence}text\n${raw}\n${fence}\n` : l10n.t('It said nothing.');
  return l10n.t("The model's answer is no review, and asking again didn't help: {0}. {1}", problem, said);
}
