/** What the composer offers of the workspace: the selection, and files and symbols to mention. */
import * as vscode from 'vscode';
import type { Mention, Selection } from '../view/messages';
import type { Place } from './actions';

const MAX_OFFERED = 30;
const DRAW_MS = 120;

/** The selection of the editor that was used last; gone when its document closes. */
export class SelectionContext implements vscode.Disposable {
  private editor: vscode.TextEditor | undefined = vscode.window.activeTextEditor;
  private timer: NodeJS.Timeout | undefined;
  private readonly subscriptions: vscode.Disposable[];

  constructor(private readonly changed: (selection: Selection | null) => void) {
    this.subscriptions = [
      vscode.window.onDidChangeActiveTextEditor((editor) => {
        if (editor === undefined) return;
        this.editor = editor;
        this.tell();
      }),
      vscode.window.onDidChangeTextEditorSelection((event) => {
        if (event.textEditor === vscode.window.activeTextEditor) this.editor = event.textEditor;
        this.tell();
      }),
      vscode.workspace.onDidCloseTextDocument((document) => {
        if (this.editor?.document === document) this.drop();
      }),
      vscode.window.onDidChangeVisibleTextEditors((editors) => {
        if (this.editor !== undefined && !editors.includes(this.editor)) this.drop();
      }),
    ];
  }

  /** What is selected; null where nothing is, or nothing that could be named. */
  get current(): Selection | null {
    const place = this.place;
    if (place === null) return null;
    const { start, end } = place.range;
    const last = end.character === 0 && end.line > start.line ? end.line : end.line + 1;
    const lines = last === start.line + 1 ? `${last}` : `${start.line + 1}-${last}`;
    return { uri: place.uri, label: `${shownPath(vscode.Uri.parse(place.uri))}:${lines}` };
  }

  get place(): Place | null {
    const editor = this.editor;
    if (editor === undefined || editor.document.isClosed || editor.selection.isEmpty) return null;
    if (!['file', 'untitled'].includes(editor.document.uri.scheme)) return null;
    const { start, end } = editor.selection;
    const point = (at: vscode.Position): { line: number; character: number } => ({ line: at.line, character: at.character });
    return { uri: editor.document.uri.toString(), range: { start: point(start), end: point(end) } };
  }

  dispose(): void {
    if (this.timer !== undefined) clearTimeout(this.timer);
    for (const one of this.subscriptions) one.dispose();
  }

  private drop(): void {
    this.editor = undefined;
    this.tell();
  }

  private tell(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.changed(this.current);
    }, DRAW_MS);
  }
}

/** Files and symbols whose name holds `query`; open files come first without one. */
export async function mentions(query: string): Promise<Mention[]> {
  const open = vscode.workspace.textDocuments.filter((one) => one.uri.scheme === 'file').map((one) => one.uri);
  if (query === '') return unique(open).slice(0, MAX_OFFERED).map(fileMention);
  const pattern = `**/*${query.replace(/./gsu, anyCase)}*`;
  const [files, symbols] = await Promise.all([
    vscode.workspace.findFiles(query.includes('/') ? `**/${query}*` : pattern, undefined, MAX_OFFERED),
    query.length < 2 ? [] : symbolsOf(query),
  ]);
  const matching = open.filter((uri) => shownPath(uri).toLowerCase().includes(query.toLowerCase()));
  return [...unique([...matching, ...files]).slice(0, MAX_OFFERED).map(fileMention), ...symbols.slice(0, MAX_OFFERED)];
}

function shownPath(uri: vscode.Uri): string {
  return uri.scheme === 'file' ? vscode.workspace.asRelativePath(uri) : uri.path;
}

async function symbolsOf(query: string): Promise<Mention[]> {
  const found = await vscode.commands.executeCommand<vscode.SymbolInformation[] | undefined>('vscode.executeWorkspaceSymbolProvider', query);
  return (found ?? []).filter((one) => one.location.uri.scheme === 'file').map((one) => {
    const place = `${shownPath(one.location.uri)}:${one.location.range.start.line + 1}`;
    return { kind: 'symbol', label: one.name, detail: place, reference: `${one.name} (${place})` };
  });
}

function fileMention(uri: vscode.Uri): Mention {
  const path = shownPath(uri);
  return { kind: 'file', label: path, detail: '', reference: path };
}

function unique(uris: readonly vscode.Uri[]): vscode.Uri[] {
  return [...new Map(uris.map((uri) => [uri.toString(), uri])).values()];
}

function anyCase(letter: string): string {
  if (/[a-z]/i.test(letter)) return `[${letter.toLowerCase()}${letter.toUpperCase()}]`;
  return /[\w.-]/.test(letter) ? letter : '?';
}
