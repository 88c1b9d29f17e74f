/** Settings: which of them the server is given, and from whom they count. Pure. */

/** What `inspect` of a setting says. */
export interface Inspected {
  readonly defaultValue?: unknown;
  readonly globalValue?: unknown;
  readonly workspaceValue?: unknown;
  readonly workspaceFolderValue?: unknown;
}

/** Keys that the server takes. */
export const SERVER_KEYS = [
  'baseUrl', 'model', 'approve', 'transport', 'project', 'python', 'deny', 'codeLens', 'aiComments',
  'approvalTimeoutS', 'inlineCompletion',
] as const;
export type ServerKey = (typeof SERVER_KEYS)[number];

/** A folder may say these; all others count from the user only. */
const FOLDER_MAY_SAY: readonly ServerKey[] = ['model', 'project', 'codeLens'];
const STRICTNESS = ['auto', 'ask', 'never'];

/** What the server is told, with the user's own values apart: the server checks a folder's word against them. */
export interface ServerSettings {
  readonly user: Record<string, unknown>;
  readonly all: Record<string, unknown>;
}

export function serverSettings(
  inspect: (key: ServerKey) => Inspected, trusted: boolean, folders: readonly string[],
): ServerSettings {
  const user: Record<string, unknown> = {};
  const all: Record<string, unknown> = {};
  for (const key of SERVER_KEYS) {
    const { globalValue, workspaceValue, workspaceFolderValue } = inspect(key);
    const folder = workspaceFolderValue ?? workspaceValue;
    if (given(globalValue)) user[key] = globalValue;
    const value = key === 'approve' ? stricter(globalValue, folder)
      : key === 'deny' ? both(globalValue, folder)
        : FOLDER_MAY_SAY.includes(key) && given(folder) ? folder : globalValue;
    if (given(value)) all[key] = value;
  }
  if (!trusted && user.approve === 'auto') user.approve = 'ask';
  if (!trusted && all.approve === 'auto') all.approve = 'ask';
  // a folder's rules count where they hold all of these
  user.deny ??= [];
  user.trusted = trusted ? [...folders] : [];
  all.trusted = user.trusted;
  return { user, all };
}

function stricter(user: unknown, folder: unknown): unknown {
  const own = given(user) ? user : 'ask';
  return STRICTNESS.indexOf(String(folder)) > STRICTNESS.indexOf(String(own)) ? folder : user;
}

function both(user: unknown, folder: unknown): unknown {
  const lists = [user, folder].filter((one): one is unknown[] => Array.isArray(one));
  return lists.length === 0 ? undefined : [...new Set(lists.flat())];
}

function given(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '';
}
