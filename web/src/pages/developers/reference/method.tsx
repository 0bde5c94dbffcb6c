import { classes } from '../../../ui/classes.ts'

const tones: Record<string, string> = { GET: 'text-info', DELETE: 'text-bad' }

/** The method of a request, in a column of its own. */
export const Method = ({ method }: { method: string }) => (
  <span className={classes('w-12 shrink-0 font-medium font-mono text-xs', tones[method] ?? 'text-text')}>{method}</span>
)
