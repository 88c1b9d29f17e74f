/** What is left to review of files that turns changed. Pure. */

export interface ReviewHunk {
  /** First line in the file as it is now, from 1. */
  readonly line: number;
  readonly added: number;
  readonly removed: number;
}

export interface ReviewFile {
  readonly uri: string;
  readonly path: string;
  readonly kind: 'changed' | 'created' | 'deleted';
  readonly added: number;
  readonly removed: number;
  readonly hunks: readonly ReviewHunk[];
}
