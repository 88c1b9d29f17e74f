/** Review of changes on VS Code's diff editor: the file before on the left, the file itself on the right. */
import * as vscode from 'vscode';
import { ReviewBook } from '../diff/review';
import type { LineEdit, ReviewFile } from '../diff/review';
import type { FileDiff, TurnChanges } from '../protocol';
import type { Store } from './store';

const SCHEME = 'loopline-base';
const LOOK_MS = 150;
const CONTEXT = 'loopline.reviewPaths';

export class Reviewer implements vscode.Disposable {
  private readonly book = new ReviewBook();
  private readonly bases = new vscode.EventEmitter<vscode.Uri>();
  private readonly lenses = new vscode.EventEmitter<void>();
  private readonly subscriptions: vscode.Disposable[];
  private shown: readonly ReviewFile[] = [];
  private timer: NodeJS.Timeout | undefined;
  private work: Promise<void> = Promise.resolve();

  /** `changesOf` asks the server what a turn changed; undefined: it can't say. */
  constructor(
    private readonly store: Store, private readonly changesOf: (sessionId: string, turnId: string) => Promise<TurnChanges | undefined>,
    private readonly changed: (files: readonly ReviewFile[]) => void,
  ) {
    const watcher = vscode.workspace.createFileSystemWatcher('**/*');
    const look = (uri: vscode.Uri): void => this.look(uri);
    this.subscriptions = [
      watcher, watcher.onDidChange(look), watcher.onDidCreate(look), watcher.onDidDelete(look), this.bases, this.lenses,
      vscode.workspace.onDidChangeTextDocument((event) => this.look(event.document.uri)),
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, {
        onDidChange: this.bases.event,
        provideTextDocumentContent: (uri) => this.book.base(uri.query) ?? '',
      }),
      vscode.languages.registerCodeLensProvider({ scheme: 'file' }, {
        onDidChangeCodeLenses: this.lenses.event,
        provideCodeLenses: (document) => this.lensesOf(document),
      }),
      store.listen((events) => {
        for (const event of events) {
          if (event.type === 'diff') void this.queue(() => this.note(event.turnId, event.files));
          else if (event.type === 'turn.finished') void this.queue(() => this.settle(event.sessionId, event.turnId));
          else if (event.type === 'turn.undone') void this.queue(() => this.undone([...event.restored, ...event.conflicts]));
        }
      }),
    ];
  }

  get files(): readonly ReviewFile[] {
    return this.shown;
  }

  dispose(): void {
    if (this.timer !== undefined) clearTimeout(this.timer);
    for (const one of this.subscriptions) one.dispose();
  }

  /** Opens the diff of a file, or of all of them. */
  async open(uri: string | null): Promise<void> {
    const files = this.shown.filter((one) => one.kind !== 'unknown' && (uri === null || one.uri === uri));
    const [first] = files;
    if (first === undefined) {
      void vscode.window.showInformationMessage('Loopline: there is nothing to review.');
    } else if (files.length === 1) {
      const [, base, now] = sides(first);
      await vscode.commands.executeCommand('vscode.diff', base, now, `${first.path} (before ↔ now)`);
    } else {
      await vscode.commands.executeCommand('vscode.changes', 'Loopline: changes to review', files.map(sides));
    }
  }

  /** Without a URI: all files; without a hunk: the whole file. */
  async decide(action: 'accept' | 'reject', uri: string | null, hunk: number | null): Promise<void> {
    const meant = this.shown.find((file) => file.uri === uri)?.hunks[hunk ?? -1];
    await this.queue(async () => {
      const found = this.shown.find((file) => file.uri === uri)?.hunks[hunk ?? -1];
      if (JSON.stringify(found) !== JSON.stringify(meant)) {
        void vscode.window.setStatusBarMessage('Loopline: the file changed; choose again', 3_000);
        return;
      }
      for (const one of uri === null ? this.shown.map((file) => file.uri) : [uri]) {
        if (action === 'accept') this.book.accept(one, hunk);
        else await this.reject(one, hunk);
        await this.read(one);
        this.bases.fire(baseUri(one));
      }
      this.tell();
    });
  }

  /** The hunk at the caret of the active editor, decided on or gone to. */
  async atCaret(what: 'accept' | 'reject' | 'next' | 'previous'): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (editor === undefined) return;
    const { scheme, query } = editor.document.uri;
    const uri = scheme === SCHEME ? query : editor.document.uri.toString();
    const direction = what === 'accept' || what === 'reject' ? 'here' : what;
    const index = this.book.hunkAt(uri, editor.selection.active.line, direction);
    if (index === null) {
      void vscode.window.setStatusBarMessage('Loopline: no change here', 3_000);
      return;
    }
    if (what === 'accept' || what === 'reject') {
      await this.decide(what, uri, index);
      return;
    }
    const hunk = this.book.hunk(uri, index);
    if (hunk === undefined) return;
    const at = new vscode.Position(Math.min(hunk.nowStart, editor.document.lineCount - 1), 0);
    editor.selection = new vscode.Selection(at, at);
    editor.revealRange(new vscode.Range(at, at), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  }

  /** The file of the active editor, if it is under review. */
  get active(): string | null {
    const uri = vscode.window.activeTextEditor?.document.uri;
    if (uri === undefined) return null;
    const wanted = uri.scheme === SCHEME ? uri.query : uri.toString();
    return this.shown.some((file) => file.uri === wanted) ? wanted : null;
  }

  private async note(turnId: string, files: readonly FileDiff[]): Promise<void> {
    const now = new Map<string, string | null>();
    const known = files.map((file) => ({ ...file, uri: vscode.Uri.parse(file.uri).toString() }));
    for (const file of known) now.set(file.uri, await textOf(file.uri));
    this.book.note(turnId, known, now);
    for (const file of known) this.bases.fire(baseUri(file.uri));
    this.tell();
  }

  /** A turn ended: the texts before it are asked for, also where its diffs did not come here or were cut. */
  private async settle(sessionId: string, turnId: string): Promise<void> {
    const found = await this.changesOf(sessionId, turnId);
    const files = (found?.files ?? []).map((file) => ({ ...file, uri: vscode.Uri.parse(file.uri).toString() }));
    if (files.length === 0) return;
    const now = new Map<string, string | null>();
    for (const file of files) now.set(file.uri, await textOf(file.uri));
    this.book.settle(turnId, files, now);
    for (const file of files) this.bases.fire(baseUri(file.uri));
    this.tell();
    const turn = this.store.app.states[sessionId]?.turns.find((one) => one.turnId === turnId);
    if (turn !== undefined && turn.files.length === 0) {
      const shown = files.map(({ path, uri, added = 0, removed = 0, diff = '', by = 'edit' as const }) => ({ path, uri, added, removed, diff, by }));
      this.store.put({ type: 'diff', sessionId, turnId, files: shown });
    }
  }

  private async undone(paths: readonly string[]): Promise<void> {
    const before = this.book.uris();
    for (const uri of before) await this.read(uri);
    this.book.undone(paths);
    for (const uri of this.book.uris()) this.bases.fire(baseUri(uri));
    this.tell();
    await closeDiffs(before.filter((uri) => !this.book.has(uri)));
  }

  private async reject(uri: string, hunk: number | null): Promise<void> {
    const found = this.book.reject(uri, hunk);
    if (found === null) return;
    const target = vscode.Uri.parse(uri);
    if ('remove' in found) await vscode.workspace.fs.delete(target);
    else if ('write' in found) await vscode.workspace.fs.writeFile(target, new TextEncoder().encode(found.write));
    else await apply(target, found.edits);
  }

  private look(uri: vscode.Uri): void {
    if (!this.book.has(uri.toString())) return;
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      void this.queue(async () => {
        for (const one of this.book.uris()) await this.read(one);
        this.tell();
      });
    }, LOOK_MS);
  }

  private async read(uri: string): Promise<void> {
    this.book.update(uri, await textOf(uri));
  }

  private tell(): void {
    this.shown = this.book.files();
    this.changed(this.shown);
    this.lenses.fire();
    const paths = this.shown.map((file) => vscode.Uri.parse(file.uri).path);
    void vscode.commands.executeCommand('setContext', CONTEXT, paths);
    void vscode.commands.executeCommand('setContext', 'loopline.reviewing', paths.length > 0);
  }

  /** One after the other, so that each sees what the one before did. */
  private queue(work: () => Promise<void>): Promise<void> {
    this.work = this.work.then(work).catch((error: unknown) => {
      void vscode.window.showErrorMessage(`Loopline: ${error instanceof Error ? error.message : String(error)}`);
    });
    return this.work;
  }

  private lensesOf(document: vscode.TextDocument): vscode.CodeLens[] {
    const file = this.shown.find((one) => one.uri === document.uri.toString());
    if (file === undefined || file.kind !== 'changed') return [];
    return file.hunks.flatMap((hunk, at) => {
      const line = Math.min(hunk.line - 1, document.lineCount - 1);
      const range = new vscode.Range(line, 0, line, 0);
      const lens = (title: string, command: string): vscode.CodeLens =>
        new vscode.CodeLens(range, { title, command, arguments: [file.uri, at] });
      return [lens('Accept change', 'loopline.acceptHunk'), lens('Reject change', 'loopline.rejectHunk')];
    });
  }
}

function baseUri(uri: string): vscode.Uri {
  return vscode.Uri.from({ scheme: SCHEME, path: vscode.Uri.parse(uri).path, query: uri });
}

/** Closes the diff editors of files that are no longer reviewed. */
async function closeDiffs(uris: readonly string[]): Promise<void> {
  const gone = new Set(uris.map((uri) => baseUri(uri).toString()));
  const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs)
    .filter(({ input }) => input instanceof vscode.TabInputTextDiff && gone.has(input.original.toString()));
  if (tabs.length > 0) await vscode.window.tabGroups.close(tabs, true);
}

/** Resource, left and right. */
function sides(file: ReviewFile): [vscode.Uri, vscode.Uri, vscode.Uri] {
  const uri = vscode.Uri.parse(file.uri);
  const gone = vscode.Uri.from({ scheme: SCHEME, path: uri.path, query: '' });
  return [uri, baseUri(file.uri), file.kind === 'deleted' ? gone : uri];
}

async function textOf(uri: string): Promise<string | null> {
  const target = vscode.Uri.parse(uri);
  const open = vscode.workspace.textDocuments.find((one) => one.uri.toString() === target.toString());
  if (open !== undefined && open.isDirty) return open.getText();
  try {
    const bytes = await vscode.workspace.fs.readFile(target);
    return open?.getText() ?? new TextDecoder().decode(bytes);
  } catch {
    return null;
  }
}

/** Edits of lines in the document, saved if it was saved before. */
async function apply(uri: vscode.Uri, edits: readonly LineEdit[]): Promise<void> {
  const document = await vscode.workspace.openTextDocument(uri);
  const dirty = document.isDirty;
  const edit = new vscode.WorkspaceEdit();
  for (const { start, end, text } of edits) edit.replace(uri, lineRange(document, start, end), text);
  if (!(await vscode.workspace.applyEdit(edit))) throw new Error(`${uri.path} could not be changed`);
  if (!dirty) await document.save();
}

function lineRange(document: vscode.TextDocument, start: number, end: number): vscode.Range {
  const last = document.lineAt(document.lineCount - 1).range.end;
  const point = (line: number): vscode.Position => (line >= document.lineCount ? last : new vscode.Position(line, 0));
  return new vscode.Range(point(start), point(end));
}
