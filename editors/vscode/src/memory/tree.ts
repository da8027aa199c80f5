/** Draws nodes as a tree view. Shared by the Memory view and the receipt. */

import * as vscode from 'vscode';
import type { Node } from './nodes';

export class NodeTree implements vscode.TreeDataProvider<Node>, vscode.Disposable {
  private readonly emitter = new vscode.EventEmitter<undefined>();
  private drawn: string | undefined;
  readonly onDidChangeTreeData = this.emitter.event;

  constructor(private readonly roots: () => readonly Node[]) {}

  /** Draw again what has changed: a row that is drawn anew under the pointer loses a click. */
  renew(): void {
    // Nothing is worked out for a view that nobody has opened.
    if (this.drawn === undefined || JSON.stringify(this.roots()) !== this.drawn) this.redraw();
  }

  /** Draw everything again. */
  redraw(): void {
    this.emitter.fire(undefined);
  }

  getChildren(node?: Node): Node[] {
    if (node) return [...(node.children ?? [])];
    const roots = this.roots();
    this.drawn = JSON.stringify(roots);
    return [...roots];
  }

  getTreeItem(node: Node): vscode.TreeItem {
    const { Collapsed, Expanded, None } = vscode.TreeItemCollapsibleState;
    const item = new vscode.TreeItem(node.label, node.children?.length ? (node.open ? Expanded : Collapsed) : None);
    item.id = node.id;
    if (node.description) item.description = node.description;
    const whole = [node.label, node.description].filter(Boolean).join(': ');
    item.tooltip = node.tooltip ?? whole;
    item.accessibilityInformation = { label: whole };
    if (node.icon) item.iconPath = new vscode.ThemeIcon(node.icon);
    if (node.context) item.contextValue = node.context;
    if (node.command) item.command = { command: node.command.id, title: node.label, arguments: [...(node.command.args ?? [])] };
    if (node.toggle) {
      const { Checked, Unchecked } = vscode.TreeItemCheckboxState;
      const state = node.toggle.on ? Checked : Unchecked;
      item.checkboxState = { state, accessibilityInformation: { label: node.label, role: 'checkbox' } };
    }
    return item;
  }

  dispose(): void {
    this.emitter.dispose();
  }
}
