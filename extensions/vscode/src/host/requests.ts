/** What the page of the session view asks for. */
import * as vscode from 'vscode';
import { PAGE_COMMANDS } from '../view/messages';
import type { ToHost } from '../view/messages';
import type { SessionView } from '../view/provider';
import type { Actions } from './actions';
import { mentions } from './context';
import type { SelectionContext } from './context';
import { taskOf } from './task';
import type { Store } from './store';

const CARRY_OUT = 'Carry out the plan.';

export interface Review {
  open(uri: string | null): Promise<void>;
  decide(action: 'accept' | 'reject', uri: string | null, hunk: number | null): Promise<void>;
}

export interface Around {
  readonly store: Store;
  readonly actions: Actions;
  readonly selection: SelectionContext;
  readonly review: Review;
  view(): SessionView;
}

export async function serve(message: ToHost, around: Around): Promise<void> {
  const { actions, store } = around;
  switch (message.type) {
    case 'ready':
      return;
    case 'send':
      await send(message, around);
      return;
    case 'cancel':
      await actions.cancel(message.turnId);
      return;
    case 'undo':
      await actions.undo(message.turnId);
      return;
    case 'answer':
      await actions.answer(message.approvalId, message.decision);
      return;
    case 'reply':
      await actions.reply(message.questionId, message.answer);
      return;
    case 'carry out':
      await actions.start(CARRY_OUT, null);
      return;
    case 'output':
      await actions.output(message.sessionId, message.toolCallId);
      return;
    case 'older':
      await actions.older(message.sessionId);
      return;
    case 'sessions':
      await actions.list();
      return;
    case 'resume':
      if (message.sessionId === store.app.current) return;
      await actions.resume(message.sessionId);
      return;
    case 'mentions':
      around.view().post({ type: 'mentions', request: message.request, found: await mentions(message.query) });
      return;
    case 'review':
      if (message.action === 'open') await around.review.open(message.uri);
      else await around.review.decide(message.action, message.uri, message.hunk);
      return;
    case 'open':
      await open(message.path, message.line);
      return;
    case 'link':
      if (/^https?:\/\//i.test(message.url)) await vscode.env.openExternal(vscode.Uri.parse(message.url, true));
      return;
    case 'copy':
      await vscode.env.clipboard.writeText(message.text);
      return;
    case 'run':
      if (PAGE_COMMANDS.includes(message.command)) await vscode.commands.executeCommand(message.command);
  }
}

async function send(message: Extract<ToHost, { type: 'send' }>, around: Around): Promise<void> {
  const { actions, store, selection } = around;
  const task = taskOf(message.text, message.mentions);
  const running = store.running;
  const sent = message.how === 'steer' && running !== undefined
    ? await actions.steer(running.turnId, task)
    : await actions.start(task, message.selection ? selection.place : null, message.how === 'plan' ? 'plan' : 'act');
  if (!sent) around.view().post({ type: 'insert', text: message.text });
}

/** Opens a file that a tool names: relative to a folder of the workspace, or whole inside of one. */
async function open(path: string, line: number | null): Promise<void> {
  const folders = vscode.workspace.workspaceFolders ?? [];
  const tried = path.startsWith('/') ? [vscode.Uri.file(path)] : folders.map((folder) => vscode.Uri.joinPath(folder.uri, path));
  for (const uri of tried) {
    if (vscode.workspace.getWorkspaceFolder(uri) === undefined) continue;
    try {
      const document = await vscode.workspace.openTextDocument(uri);
      const at = new vscode.Position(Math.max(0, (line ?? 1) - 1), 0);
      await vscode.window.showTextDocument(document, line === null ? {} : { selection: new vscode.Range(at, at) });
      return;
    } catch {
      continue;
    }
  }
  void vscode.window.showInformationMessage(`Loopline: ${path} is not in this workspace.`);
}
