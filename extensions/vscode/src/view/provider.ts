/** The session view in the side bar: hands the state to its page, and what the page asks for to the host. */
import { randomBytes } from 'node:crypto';
import * as vscode from 'vscode';
import type { Store } from '../host/store';
import type { AppEvent } from '../state/model';
import { page } from './html';
import type { Selection, ToHost, ToPage } from './messages';
import type { ReviewFile } from '../diff/review';

export const VIEW = 'loopline.session';
const FLUSH_MS = 16;

export interface Beside {
  review(): readonly ReviewFile[];
  selection(): Selection | null;
}

export class SessionView implements vscode.WebviewViewProvider {
  private view: vscode.WebviewView | undefined;
  private ready = false;
  private pending: AppEvent[] = [];
  private timer: NodeJS.Timeout | undefined;
  private waiting: ToPage[] = [];

  constructor(
    private readonly extension: vscode.Uri, private readonly store: Store, private readonly beside: Beside,
    private readonly asked: (message: ToHost) => void,
  ) {
    store.listen((events) => this.queue(events));
  }

  get visible(): boolean {
    return this.view?.visible === true;
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.view = view;
    this.ready = false;
    const file = (...path: string[]): vscode.Uri => vscode.Uri.joinPath(this.extension, ...path);
    view.webview.options = { enableScripts: true, localResourceRoots: [file('dist'), file('media')] };
    view.webview.onDidReceiveMessage((message: ToHost) => this.take(message));
    view.onDidDispose(() => {
      this.view = undefined;
      this.ready = false;
    });
    view.webview.html = page({
      nonce: randomBytes(16).toString('base64url'),
      source: view.webview.cspSource,
      script: view.webview.asWebviewUri(file('dist', 'view.js')).toString(),
      style: view.webview.asWebviewUri(file('media', 'view.css')).toString(),
    });
  }

  /** How many things wait for the user. */
  badge(waiting: number): void {
    if (this.view === undefined || this.view.badge?.value === waiting) return;
    const tooltip = `${waiting} approval${waiting === 1 ? '' : 's'} waiting`;
    this.view.badge = waiting === 0 ? undefined : { value: waiting, tooltip };
  }

  /** Bring the view up, and have its page do something once it is there. */
  async show(what: Extract<ToPage, { type: 'do' }>['what']): Promise<void> {
    if (this.view === undefined || !this.view.visible) await vscode.commands.executeCommand(`${VIEW}.focus`);
    else this.view.show(false);
    this.post({ type: 'do', what });
  }

  post(message: ToPage): void {
    if (this.view !== undefined && this.ready) void this.view.webview.postMessage(message);
    else if (message.type === 'do' || message.type === 'insert') this.waiting.push(message);
  }

  private take(message: ToHost): void {
    if (message.type !== 'ready') {
      this.asked(message);
      return;
    }
    this.ready = true;
    this.pending = [];
    this.post({ type: 'state', app: this.store.app, review: this.beside.review(), selection: this.beside.selection() });
    for (const one of this.waiting.splice(0)) this.post(one);
  }

  private queue(events: readonly AppEvent[]): void {
    if (!this.ready) return;
    this.pending.push(...events);
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      const events = this.pending.splice(0);
      if (events.length > 0) this.post({ type: 'events', events });
    }, FLUSH_MS);
  }
}
