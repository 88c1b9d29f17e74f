/** The commands of the palette, the status bar and the menus. */
import * as vscode from 'vscode';
import type { Client } from '../server/client';
import type { SessionView } from '../view/provider';
import type { Actions } from './actions';
import { chooseModel, chooseSession, setKey } from './pickers';
import type { Reviewer } from './review';
import type { Store } from './store';

export interface Parts {
  readonly store: Store;
  readonly actions: Actions;
  readonly view: SessionView;
  readonly reviewer: Reviewer;
  readonly output: vscode.LogOutputChannel;
  client(): Client | undefined;
  restart(): void;
  install(): Promise<void>;
}

export function registerCommands(parts: Parts): vscode.Disposable[] {
  const { store, actions, view, output, reviewer } = parts;
  const handlers: Record<string, (...given: unknown[]) => unknown> = {
    'loopline.open': () => view.show('focus'),
    'loopline.newSession': async () => {
      await actions.create();
      await view.show('focus');
    },
    'loopline.compact': () => actions.compact(),
    'loopline.showSessions': () => chooseSession(actions),
    'loopline.startTurn': () => startTurn(parts),
    'loopline.cancelTurn': () => actions.cancel(),
    'loopline.undoTurn': () => actions.undo(),
    'loopline.showBreakdown': () => view.show('breakdown'),
    'loopline.showApproval': () => view.show('next approval'),
    'loopline.chooseModel': () => chooseModel(actions, store),
    'loopline.setKey': () => setKey(parts.client()),
    'loopline.openDashboard': () => actions.ask('loopline.dashboard.open', {}),
    'loopline.restartServer': () => parts.restart(),
    'loopline.installServer': () => parts.install(),
    'loopline.showLog': () => output.show(),
    'loopline.openSettings': () => vscode.commands.executeCommand('workbench.action.openSettings', '@ext:loopline.loopline'),
    'loopline.reviewChanges': () => reviewer.open(null),
    'loopline.acceptHunk': (uri, hunk) => onHunk('accept', uri, hunk),
    'loopline.rejectHunk': (uri, hunk) => onHunk('reject', uri, hunk),
    'loopline.acceptFile': () => onFile('accept'),
    'loopline.rejectFile': () => onFile('reject'),
    'loopline.acceptAll': () => reviewer.decide('accept', null, null),
    'loopline.rejectAll': () => reviewer.decide('reject', null, null),
    'loopline.nextHunk': () => reviewer.atCaret('next'),
    'loopline.previousHunk': () => reviewer.atCaret('previous'),
    'loopline.addSelection': () => view.show('focus'),
    'loopline.trustFolder': () => vscode.commands.executeCommand('workbench.trust.manage'),
    'loopline.openFolder': () => vscode.commands.executeCommand('workbench.action.files.openFolder'),
  };
  /** From a lens with its hunk; else the one at the caret. */
  async function onHunk(action: 'accept' | 'reject', uri: unknown, hunk: unknown): Promise<void> {
    if (typeof uri === 'string' && typeof hunk === 'number') await reviewer.decide(action, uri, hunk);
    else await reviewer.atCaret(action);
  }
  async function onFile(action: 'accept' | 'reject'): Promise<void> {
    if (reviewer.active !== null) await reviewer.decide(action, reviewer.active, null);
  }
  return Object.entries(handlers).map(([name, handler]) => vscode.commands.registerCommand(name, handler));
}

async function startTurn(parts: Parts): Promise<void> {
  const task = await vscode.window.showInputBox({ title: 'Loopline', prompt: 'What should be done?', ignoreFocusOut: true });
  if (task === undefined || task.trim() === '') return;
  const editor = vscode.window.activeTextEditor;
  const place = editor === undefined || editor.selection.isEmpty ? null
    : { uri: editor.document.uri.toString(), range: plain(editor.selection) };
  if (await parts.actions.start(task, place)) await parts.view.show('focus');
}

function plain(range: vscode.Range): { start: { line: number; character: number }; end: { line: number; character: number } } {
  const point = (at: vscode.Position): { line: number; character: number } => ({ line: at.line, character: at.character });
  return { start: point(range.start), end: point(range.end) };
}
