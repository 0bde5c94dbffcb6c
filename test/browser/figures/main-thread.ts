/**
 * The longest task of the main thread of a page, from a trace of the browser: nothing else can run during a task. The time
 * is that of the processor, so that other programs on the machine do not count.
 */
import type { Browser, Page } from 'playwright-core'

type TraceEvent = {
  name: string
  ph: string
  pid: number
  tid: number
  ts: number
  dur?: number
  tdur?: number
  args?: { name?: string }
}

const categories = ['__metadata', 'toplevel', 'devtools.timeline', 'disabled-by-default-devtools.timeline']

export type Task = { ms: number; parts: string[] }

const inside = (task: TraceEvent, event: TraceEvent): boolean =>
  event.pid === task.pid && event.tid === task.tid && event.ts >= task.ts && event.ts < task.ts + (task.dur ?? 0)

/** What took more than 2 ms of it. Shows what to shorten. */
const partsOf = (task: TraceEvent, events: readonly TraceEvent[]): string[] =>
  events
    .filter((event) => event !== task && event.ph === 'X' && (event.tdur ?? 0) > 2_000 && inside(task, event))
    .map(({ name, tdur = 0 }) => `${name} ${Math.round(tdur / 1_000)} ms`)

export const longestTasks = (trace: Buffer, count: number): Task[] => {
  const { traceEvents: events } = JSON.parse(trace.toString()) as { traceEvents: TraceEvent[] }
  const mains = new Set(
    events.flatMap(({ name, args, pid, tid }) =>
      name === 'thread_name' && args?.name === 'CrRendererMain' ? [`${pid}:${tid}`] : [],
    ),
  )
  return events
    .filter(({ name, pid, tid }) => name === 'RunTask' && mains.has(`${pid}:${tid}`))
    .sort((a, b) => (b.tdur ?? 0) - (a.tdur ?? 0))
    .slice(0, count)
    .map((task) => ({ ms: (task.tdur ?? Number.NaN) / 1_000, parts: partsOf(task, events) }))
}

export const traceDuring = async (page: Page, run: () => Promise<void>): Promise<Buffer> => {
  const browser = page.context().browser() as Browser
  await browser.startTracing(page, { categories })
  await run()
  return browser.stopTracing()
}

/**
 * The longest task while `run` runs. If it takes longer than allowed, it is measured up to three times and the shortest
 * counts: a virtual machine that other machines slow down counts their time as its own.
 */
export const longestTaskDuring = async (page: Page, allowedMs: number, run: () => Promise<void>): Promise<Task> => {
  let least: Task = { ms: Number.POSITIVE_INFINITY, parts: [] }
  for (let attempt = 1; attempt <= 3 && least.ms >= allowedMs; attempt++) {
    const [longest] = longestTasks(await traceDuring(page, run), 1)
    if (!longest || Number.isNaN(longest.ms)) throw new Error('the trace contains no task of the main thread')
    if (longest.ms < least.ms) least = longest
  }
  return least
}
