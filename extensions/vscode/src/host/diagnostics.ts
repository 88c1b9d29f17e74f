/** Tells the server what other language tools say of the workspace's documents. */
import * as vscode from 'vscode';
import type { Client } from '../server/client';

const SOURCE = 'Loopline';
const TELL_MS = 250;
const MAX_PER_FILE = 200;

export function forwardDiagnostics(client: Client): vscode.Disposable {
  const changed = new Map<string, vscode.Uri>();
  const told = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  function flush(): void {
    timer = undefined;
    for (const [key, uri] of changed) {
      const found = vscode.languages.getDiagnostics(uri).filter((one) => one.source !== SOURCE).slice(0, MAX_PER_FILE);
      if (found.length === 0 && !told.has(key)) continue;
      if (found.length === 0) told.delete(key);
      else told.add(key);
      client.notify('loopline/diagnostics', { uri: client.converter.asUri(uri), diagnostics: client.converter.asDiagnostics(found) });
    }
    changed.clear();
  }
  function note(uris: readonly vscode.Uri[]): void {
    for (const uri of uris) if (uri.scheme === 'file') changed.set(uri.toString(), uri);
    timer ??= setTimeout(flush, TELL_MS);
  }
  note(vscode.languages.getDiagnostics().map(([uri]) => uri));
  const listening = vscode.languages.onDidChangeDiagnostics((event) => note(event.uris));
  return {
    dispose() {
      listening.dispose();
      if (timer !== undefined) clearTimeout(timer);
    },
  };
}
