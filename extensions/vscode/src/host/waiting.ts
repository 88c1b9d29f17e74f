/** A notification when an approval waits and nobody looks: the window has no focus, or the view is hidden. */
import * as vscode from 'vscode';
import type { Approval } from '../protocol';
import type { SessionView } from '../view/provider';
import type { Actions } from './actions';
import type { Store } from './store';

const MAX_SHOWN = 200;

export function notifyWaiting(store: Store, view: SessionView, actions: Actions): vscode.Disposable {
  async function ask(approval: Approval): Promise<void> {
    const subject = approval.subject.replace(/\s+/g, ' ').slice(0, MAX_SHOWN);
    const text = `Loopline waits for your approval of ${approval.name}${subject === approval.name ? '' : `: ${subject}`}`;
    // what is not shown whole is not allowed from here
    const whole = approval.subject.trim() === subject;
    const chosen = await vscode.window.showWarningMessage(text, ...(whole ? ['Allow'] : []), 'Deny', 'Show');
    if (chosen === 'Allow') await actions.answer(approval.approvalId, 'allow');
    else if (chosen === 'Deny') await actions.answer(approval.approvalId, 'deny');
    else if (chosen === 'Show') {
      store.put({ type: 'local.show', sessionId: approval.sessionId });
      await view.show('next approval');
    }
  }
  const told = new Set<string>();
  return store.listen((events) => {
    const opened = events.flatMap((event) => event.type === 'approval.opened' ? [event.approval]
      : event.type === 'local.session' ? (event.session.approvals ?? []) : []);
    for (const approval of opened) {
      if (told.has(approval.approvalId) || (vscode.window.state.focused && view.visible)) continue;
      told.add(approval.approvalId);
      void ask(approval);
    }
  });
}
