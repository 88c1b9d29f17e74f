/** What users do with sessions and turns, whether from the view, by a command or by a menu of the server. */
import * as vscode from 'vscode';
import type { Commands, Session } from '../protocol';
import type { Client } from '../server/client';
import type { Store } from './store';

const PAGE_ENTRIES = 200;

export interface Place {
  readonly uri: string;
  readonly range: { start: { line: number; character: number }; end: { line: number; character: number } };
}

export class Actions {
  constructor(private readonly store: Store, private readonly client: () => Client | undefined) {}

  /** Runs a command of the server; tells the user why it failed. undefined: it did. */
  async ask<N extends keyof Commands>(name: N, params: Commands[N]['params']): Promise<Commands[N]['result'] | undefined> {
    const client = this.client();
    if (client === undefined) {
      void vscode.window.showWarningMessage('Loopline: the server does not run.', 'Start').then((chosen) => {
        if (chosen !== undefined) void vscode.commands.executeCommand('loopline.restartServer');
      });
      return undefined;
    }
    try {
      return await client.command(name, params);
    } catch (error) {
      void vscode.window.showErrorMessage(`Loopline: ${words(error)}`);
      return undefined;
    }
  }

  async start(task: string, place: Place | null, mode: 'act' | 'plan' = 'act'): Promise<boolean> {
    const sessionId = this.store.app.current;
    const where = place === null ? {} : { textDocument: { uri: place.uri }, range: place.range };
    const begun = await this.ask('loopline.turn.start', { task, mode, ...where, ...(sessionId === null ? {} : { sessionId }) });
    if (begun === undefined) return false;
    this.began(begun, task);
    return true;
  }

  /** A turn was started, from wherever. */
  began(begun: { sessionId: string; turnId: string }, task: string): void {
    this.store.put({ type: 'local.asked', ...begun, text: task });
    if (this.store.app.current !== begun.sessionId) this.store.put({ type: 'local.show', sessionId: begun.sessionId });
    void this.list();
  }

  async steer(turnId: string, text: string): Promise<boolean> {
    const steered = await this.ask('loopline.turn.steer', { turnId, text });
    if (steered?.fate === 'refused') void vscode.window.showInformationMessage('Loopline: the turn takes no more input.');
    return steered !== undefined && steered.fate !== 'refused';
  }

  async cancel(turnId?: string): Promise<void> {
    const wanted = turnId ?? this.store.running?.turnId;
    if (wanted !== undefined) await this.ask('loopline.turn.cancel', { turnId: wanted });
  }

  async undo(turnId?: string): Promise<void> {
    const { session } = this.store;
    if (turnId === undefined && session !== undefined && session.turns.length === 0) await this.resume(session.sessionId);
    const turns = this.store.session?.turns ?? [];
    const wanted = turnId ?? turns.findLast((turn) => turn.undone === undefined && turn.status !== 'running')?.turnId;
    if (wanted === undefined) void vscode.window.showInformationMessage('Loopline: there is no turn to undo.');
    else await this.ask('loopline.turn.undo', { turnId: wanted });
  }

  /** Makes the shown conversation shorter; what comes of it is told as a notice. */
  async compact(): Promise<void> {
    const sessionId = this.store.app.current;
    if (sessionId === null) void vscode.window.showInformationMessage('Loopline: there is no session yet.');
    else await this.ask('loopline.session.compact', { sessionId });
  }

  async answer(approvalId: string, decision: 'allow' | 'always' | 'deny'): Promise<void> {
    await this.ask('loopline.approval.answer', { approvalId, decision });
  }

  async reply(questionId: string, answer: string): Promise<void> {
    await this.ask('loopline.question.answer', { questionId, answer });
  }

  /** Refreshes the list of sessions; what it holds. */
  async list(): Promise<readonly Session[]> {
    const client = this.client();
    if (client === undefined) return [];
    try {
      const { sessions } = await client.command('loopline.session.list', {});
      this.store.put({ type: 'local.sessions', sessions });
      return sessions;
    } catch {
      return [];
    }
  }

  async create(): Promise<void> {
    const begun = await this.ask('loopline.session.new', {});
    if (begun === undefined) return;
    this.store.put({ type: 'local.show', sessionId: begun.sessionId });
    await this.list();
  }

  async resume(sessionId: string): Promise<void> {
    const known = this.store.app.states[sessionId]?.items ?? [];
    // the server tells anew how a running turn stands, so what is half said here is dropped
    if (known.some((item) => item.kind === 'text' && !item.done)) this.store.put({ type: 'local.forget', sessionId });
    if ((this.store.app.states[sessionId]?.items.length ?? 0) === 0) await this.older(sessionId);
    const session = await this.ask('loopline.session.resume', { sessionId });
    if (session === undefined) return;
    this.store.put({ type: 'local.session', session }, { type: 'local.show', sessionId });
    await this.list();
  }

  /** Shows a session's transcript without opening it; its next turn does that. */
  async look(sessionId: string): Promise<void> {
    if ((this.store.app.states[sessionId]?.items.length ?? 0) === 0) await this.older(sessionId);
    this.store.put({ type: 'session.hosting', sessionId, state: 'live' }, { type: 'local.show', sessionId });
  }

  /** Events were left out: read the shown session anew. */
  async reload(): Promise<void> {
    const sessionId = this.store.app.current;
    if (sessionId === null || this.client() === undefined) return;
    this.store.put({ type: 'local.forget', sessionId });
    await this.resume(sessionId);
    await this.refreshStatus();
  }

  async refreshStatus(): Promise<void> {
    const status = await this.client()?.request('loopline/status', {}).catch(() => undefined);
    if (status !== undefined) this.store.put({ ...status, type: 'status' });
  }

  /** The page of the transcript before what is shown. */
  async older(sessionId: string): Promise<void> {
    const client = this.client();
    const state = this.store.app.states[sessionId];
    const before = state === undefined || state.oldest === 0 ? {} : { before: state.oldest };
    const found = await client?.request('loopline/transcript', { sessionId, limit: PAGE_ENTRIES, ...before }).catch(() => undefined);
    if (found === undefined) return;
    this.store.put({ type: 'local.transcript', sessionId, entries: found.entries, more: found.more });
  }

  /** The whole output of a tool call, looked for in the session's transcript. */
  async output(sessionId: string, toolCallId: string): Promise<void> {
    const client = this.client();
    if (client === undefined) return;
    let before: number | undefined;
    for (let pages = 0; pages < 20; pages += 1) {
      const asked = { sessionId, limit: PAGE_ENTRIES, ...(before === undefined ? {} : { before }) };
      const page = await client.request('loopline/transcript', asked).catch(() => undefined);
      const entry = page?.entries.find((one) => one.toolCallId === toolCallId);
      if (entry !== undefined) {
        this.store.put({ type: 'local.output', sessionId, toolCallId, text: entry.text });
        return;
      }
      before = page?.entries[0]?.index;
      if (page?.more !== true || before === undefined) return;
    }
  }
}

/** What the server says went wrong, with what it says would help. */
function words(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const hint = 'data' in error && typeof error.data === 'object' && error.data !== null && 'hint' in error.data ? error.data.hint : undefined;
  return typeof hint === 'string' && hint !== '' ? `${error.message} (${hint})` : error.message;
}
