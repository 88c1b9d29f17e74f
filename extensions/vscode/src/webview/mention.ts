/** The `@` that a person is writing. Pure. */
import type { Mention } from '../view/messages';

/** What stands between an `@` and the caret; null if no mention is being written. */
export function mentionAt(text: string, caret: number): { start: number; query: string } | null {
  const found = /(^|[\s(])@([^\s@]{0,80})$/.exec(text.slice(0, caret));
  if (found === null) return null;
  const query = found[2] ?? '';
  return { start: caret - query.length - 1, query };
}

/** The text with the mention in place, and where the caret then is. */
export function complete(text: string, start: number, caret: number, mention: Mention): { text: string; caret: number } {
  const put = `@${mention.label} `;
  const rest = text.slice(caret).replace(/^ /, '');
  return { text: text.slice(0, start) + put + rest, caret: start + put.length };
}

/** Those of the chosen mentions that the text still holds. */
export function kept(text: string, chosen: readonly Mention[]): Mention[] {
  const seen = new Set<string>();
  return chosen.filter((one) => {
    const fresh = text.includes(`@${one.label}`) && !seen.has(one.reference);
    seen.add(one.reference);
    return fresh;
  });
}
