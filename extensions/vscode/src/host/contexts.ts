/** Context keys, for the `when` of menus, keys and the walkthrough; and the badge of the view. */
import * as vscode from 'vscode';
import { waitingApprovals } from '../state/status_text';
import type { SessionView } from '../view/provider';
import type { Store } from './store';

const SET_MS = 100;

export function contextKeys(store: Store, view: SessionView): vscode.Disposable {
  const known: Record<string, boolean> = {};
  let timer: NodeJS.Timeout | undefined;
  function set(key: string, value: boolean): void {
    if (known[key] === value) return;
    known[key] = value;
    void vscode.commands.executeCommand('setContext', key, value);
  }
  function update(): void {
    timer = undefined;
    set('loopline.serverRunning', store.app.host.phase === 'running');
    set('loopline.turnRunning', store.running !== undefined);
    const waiting = waitingApprovals(store.app);
    set('loopline.approvalWaiting', waiting > 0);
    view.badge(waiting);
  }
  const listening = store.listen(() => {
    timer ??= setTimeout(update, SET_MS);
  });
  return {
    dispose() {
      listening.dispose();
      if (timer !== undefined) clearTimeout(timer);
    },
  };
}
