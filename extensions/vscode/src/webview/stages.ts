/** The five stages of a turn, in their fixed order. Pure. */
import type { Stages } from '../protocol';

const STAGES = [
  ['inference', 'inference'],
  ['client_tool', 'tools'],
  ['api_overhead', 'overhead'],
  ['approval', 'approval'],
  ['client_other', 'other'],
] as const;

export function stagesOf(stages: Stages | undefined): { name: string; label: string; ms: number }[] {
  return STAGES.map(([name, label]) => ({ name, label, ms: Math.max(0, stages?.stagesMs[name] ?? 0) }));
}
