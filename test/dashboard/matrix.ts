/** Every route of the dashboard with its gate, and what it returns to a caller whom the gate admits. Add a line for a new route. */
import type { SessionGate } from '../../src/http/dashboard/dashboard-route.ts'

export type Line = {
  gate: SessionGate
  /** The status for a caller whom the gate admits. A change is sent with an empty object, so it usually is 422. */
  admitted: number
  /** Sent instead of an empty object. */
  body?: unknown
  /** Starts with a question mark. */
  query?: string
  /** A change that a suspended org may still make. */
  whileSuspended?: 'open'
}

export const matrix: Record<string, Line> = {
  'GET /api/internal/api-keys': { gate: 'requireSession', admitted: 200 },
}
