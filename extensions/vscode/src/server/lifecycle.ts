/**
 * The life of the server as a table: what happens, and what to do about it. Pure.
 *
 * However often a start or restart is wanted while another one is under way, one more follows, with the settings of
 * then.
 */
import { calm, crashed } from './backoff';
import type { Backoff } from './backoff';

export type Stage = 'off' | 'starting' | 'running' | 'stopping' | 'waiting' | 'given up';

export interface Life {
  readonly stage: Stage;
  /** Start again once it stopped. */
  readonly again: boolean;
  readonly backoff: Backoff;
}

export type Happening =
  | { type: 'wanted' }
  | { type: 'restart wanted' }
  | { type: 'stop wanted' }
  | { type: 'started' }
  /** There is nothing to start. */
  | { type: 'not found' }
  | { type: 'stopped' }
  | { type: 'ended'; nowMs: number }
  | { type: 'waited' };

export type Deed = { do: 'start' } | { do: 'stop' } | { do: 'wait'; ms: number } | { do: 'give up' } | { do: 'nothing' };

export const asleep: Life = { stage: 'off', again: false, backoff: calm };

export function live(life: Life, what: Happening): { life: Life; deed: Deed } {
  const to = (stage: Stage, deed: Deed = { do: 'nothing' }, more: Partial<Life> = {}): { life: Life; deed: Deed } => ({
    life: { ...life, stage, ...more },
    deed,
  });
  switch (what.type) {
    case 'wanted':
      if (life.stage === 'stopping') return to('stopping', undefined, { again: true });
      if (life.stage === 'starting' || life.stage === 'running') return to(life.stage);
      return to('starting', { do: 'start' }, { again: false });
    case 'restart wanted':
      if (life.stage === 'running') return to('stopping', { do: 'stop' }, { again: true, backoff: calm });
      if (life.stage === 'starting' || life.stage === 'stopping') return to(life.stage, undefined, { again: true, backoff: calm });
      return to('starting', { do: 'start' }, { again: false, backoff: calm });
    case 'stop wanted':
      if (life.stage === 'off' || life.stage === 'stopping') return to(life.stage, undefined, { again: false });
      if (life.stage === 'waiting' || life.stage === 'given up') return to('off', undefined, { again: false });
      return to('stopping', { do: 'stop' }, { again: false });
    case 'started':
      if (life.stage !== 'starting') return to(life.stage);
      return life.again ? to('stopping', { do: 'stop' }) : to('running');
    case 'not found':
      return life.again ? to('starting', { do: 'start' }, { again: false }) : to('off');
    case 'stopped':
      if (life.stage !== 'stopping') return to(life.stage);
      return life.again ? to('starting', { do: 'start' }, { again: false }) : to('off');
    case 'ended': {
      if (life.stage !== 'starting' && life.stage !== 'running') return to(life.stage);
      if (life.again) return to('starting', { do: 'start' }, { again: false });
      const { after, waitMs } = crashed(life.backoff, what.nowMs);
      if (waitMs === null) return to('given up', { do: 'give up' }, { backoff: calm });
      return to('waiting', { do: 'wait', ms: waitMs }, { backoff: after });
    }
    case 'waited':
      return life.stage === 'waiting' ? to('starting', { do: 'start' }) : to(life.stage);
  }
}
