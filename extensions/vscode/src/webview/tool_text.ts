/** What a tool call is about, in a few words. Pure. */
import type { ToolItem } from '../state/model';

const SUBJECTS = ['command', 'path', 'pattern', 'target', 'query', 'url'];

export function subject(item: Pick<ToolItem, 'name' | 'arguments'>): string {
  const given = parsed(item.arguments);
  const said = SUBJECTS.map((name) => given[name]).find((value) => typeof value === 'string' && value !== '');
  if (typeof said !== 'string') return '';
  const { start, end } = given;
  const lines = typeof start === 'number' ? `:${start}${typeof end === 'number' ? `-${end}` : ''}` : '';
  return `${said.split('\n', 1)[0] ?? ''}${said === given.path ? lines : ''}`;
}

/** The file that a call is about; null if it is about none. Lines from 1. */
export function pathOf(item: Pick<ToolItem, 'name' | 'arguments' | 'files'>): { path: string; line: number | null } | null {
  const given = parsed(item.arguments);
  const path = item.files[0] ?? (['read', 'edit', 'patch'].includes(item.name) ? given.path : undefined);
  if (typeof path !== 'string' || path === '') return null;
  return { path, line: typeof given.start === 'number' ? given.start : null };
}

function parsed(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
