/** `carrel/confirm`: only a person who clicks decides. No setting, command or other extension answers. */

import { l10n } from 'vscode';
import type { ConfirmParams, ConfirmResult } from '../protocol';

export const ALLOW = l10n.t('Allow');
export const DENY = l10n.t("Don't Allow");

/** The person in front of the editor. */
export interface Person {
  /** Whether they trust the folder that is open. */
  trusts(): boolean;
  /** Show a modal dialog; gives the button that was clicked, if one was. The first one is what Enter means. */
  choose(question: string, detail: string, ...buttons: string[]): PromiseLike<string | undefined>;
  tell(text: string): void;
}

/** Have the person decide. A fault, a closed dialog and a folder that isn't trusted are a no. */
export async function decide(params: ConfirmParams, person: Person): Promise<ConfirmResult> {
  if (!person.trusts()) {
    person.tell(l10n.t("Carrel was not allowed to do it: this folder isn't trusted. It was about {0}.", listed(params, ', ')));
    return { allowed: false };
  }
  const { question, detail } = dialog(params);
  // Who is typing when the dialog opens must not agree by the Enter that was meant for the text.
  return { allowed: (await person.choose(question, detail, DENY, ALLOW)) === ALLOW };
}

/** What the dialog says: the risk, and all that is decided. */
export function dialog(params: ConfirmParams): { readonly question: string; readonly detail: string } {
  const question = QUESTIONS.get(params.what) ?? l10n.t('Carrel: allow this?');
  return { question, detail: `${plain(params.risk)}\n\n${listed(params, '\n')}` };
}

const QUESTIONS: ReadonlyMap<string, string> = new Map([
  ['provider', l10n.t('Carrel: allow text to be sent to a remote model?')],
  ['paidIndex', l10n.t('Carrel: allow an index that costs money?')],
  ['tools', l10n.t('Carrel: may models and pipelines use these tools?')],
  ['source', l10n.t('Carrel: change what is searched beside your projects?')],
  ['pipeline', l10n.t('Carrel: run these tools, one after the other?')],
]);

function listed({ details }: ConfirmParams, separator: string): string {
  return Object.entries(details)
    .map(([name, value]) => `${plain(name)}: ${plain(value)}`)
    .join(separator);
}

/** One line, as it is: neither line ends nor characters that turn or hide text may make it look like something else. */
function plain(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ').trim();
}
