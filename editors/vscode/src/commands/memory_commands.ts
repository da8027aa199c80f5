/** Commands of the Memory view. */

import * as vscode from 'vscode';
import { localFolders, type Memory } from '../memory/memory';
import type { Node } from '../memory/nodes';
import { bytes } from '../memory/labels';
import { budget, change, configuration } from '../settings';

export function memoryCommands(memory: Memory): Record<string, (...args: never[]) => unknown> {
  return {
    'carrel.memory.index': async (node?: Node) => {
      if (!localFolders().length) throw new Error(vscode.l10n.t('open a folder first.'));
      return memory.indexAndTell(node?.context === 'folder' ? node.id : undefined);
    },
    'carrel.memory.cancel': () => memory.cancel(),
    'carrel.memory.clear': async () => {
      const sure = await vscode.window.showWarningMessage(
        vscode.l10n.t('Delete the index of this project? Your files stay as they are.'),
        { modal: true },
        vscode.l10n.t('Delete'),
      );
      if (sure) void vscode.window.setStatusBarMessage(vscode.l10n.t('Carrel: {0} freed', bytes(await memory.clear())), 5_000);
    },
    'carrel.memory.setTopK': async () => {
      const answer = await ask(
        vscode.l10n.t('How many places of the project may an answer use?'),
        String(configuration().get('ragTopK', 5)),
        1,
        20,
      );
      if (answer) await change('ragTopK', answer);
    },
    'carrel.memory.setBudget': async () => {
      const [inTokens, inCharacters] = [vscode.l10n.t('tokens'), vscode.l10n.t('characters')];
      const unit = await vscode.window.showQuickPick([inTokens, inCharacters], {
        title: vscode.l10n.t('Carrel: Count the Budget in'),
      });
      if (!unit) return;
      const { tokens = 1_000, chars = 4_000 } = budget();
      const question = vscode.l10n.t('How many {0} of your project may go with a question?', unit);
      const answer = await ask(question, String(unit === inTokens ? tokens : chars), 100, 1_000_000);
      if (answer) await change('budget', unit === inTokens ? { tokens: answer } : { chars: answer });
    },
  };
}

async function ask(prompt: string, value: string, from: number, to: number): Promise<number | undefined> {
  const validateInput = (text: string): string | undefined =>
    /^\d+$/.test(text) && Number(text) >= from && Number(text) <= to
      ? undefined
      : vscode.l10n.t('A whole number from {0} to {1}', from, to);
  const answer = await vscode.window.showInputBox({ title: 'Carrel', prompt, value, validateInput });
  return answer === undefined ? undefined : Number(answer);
}
