/** The status bar item. */
import * as vscode from 'vscode';
import { statusText } from '../state/status_text';
import type { Store } from './store';

const DRAW_MS = 100;

export function statusBar(store: Store): vscode.Disposable {
  const item = vscode.window.createStatusBarItem('loopline.status', vscode.StatusBarAlignment.Right, 100);
  item.name = 'Loopline';
  let timer: NodeJS.Timeout | undefined;
  function draw(): void {
    timer = undefined;
    const shown = statusText(store.app);
    const stopped = ['missing', 'failed', 'stopped', 'unsupported', 'no folder'].includes(store.app.host.phase);
    item.text = shown.text;
    item.tooltip = new vscode.MarkdownString(shown.tooltip);
    item.accessibilityInformation = { label: shown.spoken, role: 'button' };
    item.backgroundColor = shown.severity === 'info' ? undefined
      : new vscode.ThemeColor(`statusBarItem.${shown.severity}Background`);
    item.command = stopped ? 'loopline.open' : 'loopline.showBreakdown';
    item.show();
  }
  draw();
  const listening = store.listen(() => {
    timer ??= setTimeout(draw, DRAW_MS);
  });
  return {
    dispose() {
      listening.dispose();
      if (timer !== undefined) clearTimeout(timer);
      item.dispose();
    },
  };
}
