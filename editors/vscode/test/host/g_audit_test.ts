import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { carrel, until } from './carrel';

const QUESTION = 'how is a login checked, for the log?';

describe('the audit view', () => {
  it('lists what was given, keeps to its filter, and opens an entry as text', async () => {
    const { audit } = await carrel();
    const pack = await vscode.commands.executeCommand<{ id: string }>('carrel.copyContext', QUESTION);
    const number = await until('the entry', async () => {
      const { entries } = await audit.refresh();
      return entries.find(({ details }) => details.id === pack.id)?.number;
    });
    const row = audit.tree.getChildren().find(({ id }) => id === String(number));
    assert.equal(row?.label, `Given to a chat: ${QUESTION}`);
    assert.doesNotThrow(() => audit.tree.getChildren().map(node => audit.tree.getTreeItem(node)));

    await vscode.commands.executeCommand('carrel.audit.open', number);
    const document = vscode.window.activeTextEditor?.document;
    assert.equal(document?.uri.scheme, 'carrel-audit', 'nobody edits it');
    assert.match(document.getText(), new RegExp(`> ${QUESTION.replace('?', '\\?')}[^]*- src/auth\\.py:1-4: score 0\\.\\d\\d`));
    assert.doesNotMatch(document.getText(), /def authenticate_user/, 'the log has no text of files');

    await vscode.commands.executeCommand('carrel.audit.filter', { kind: 'permission', since: '1h' });
    const { entries } = await audit.refresh();
    assert(entries.every(({ kind }) => kind === 'permission'));
    await vscode.commands.executeCommand('carrel.audit.filter', { kind: '', since: '' });
  });
});
