import { PgBoss } from 'pg-boss'
import type { Log } from '../ground/log.ts'
import type { Task, Tasks } from './tasks.ts'

export interface Recurring {
  start(): Promise<void>
  /** Starts nothing more and waits for what runs. */
  stop(): Promise<void>
}

type Needs = {
  url: string
  log: Log
  tasks: Tasks
  /** How often due schedules and waiting jobs are looked for, in seconds. */
  pace?: { schedules: number; jobs: number }
}

const drainMs = 30_000

/** Each task on its schedule, once per tick however many workers there are. */
export const makeRecurring = ({ url, log, tasks, pace = { schedules: 30, jobs: 5 } }: Needs): Recurring => {
  let boss: PgBoss | undefined

  const runTask = async (name: string, run: Task['run']) => {
    try {
      const counts = await run()
      log.info({ task: name, ...counts }, 'task done')
      return counts
    } catch (error) {
      // The queue notes the fault in its own tables and tries again; people look here.
      log.error({ err: error, task: name }, 'a task failed')
      throw error
    }
  }

  return {
    start: async () => {
      boss = new PgBoss({
        connectionString: url,
        max: 2,
        application_name: 'tidings recurring',
        cronMonitorIntervalSeconds: pace.schedules,
        cronWorkerIntervalSeconds: pace.jobs,
      })
      // pg-boss mends itself after a lost connection; without a listener the fault would end the process.
      boss.on('error', (error) => log.warn({ err: error }, 'the job queue met a fault'))
      await boss.start()
      const scheduled = Object.entries(tasks).flatMap(([name, { cron, run }]) => (cron ? [{ name, cron, run }] : []))
      for (const { name, cron, run } of scheduled) {
        // At most one waiting and one running: a tick missed while one runs long is caught up once.
        await boss.createQueue(name, {
          policy: 'stately',
          retryLimit: 2,
          retryDelay: 30,
          expireInSeconds: 3_600,
        })
        await boss.schedule(name, cron, null, { tz: 'UTC' })
        await boss.work(name, { pollingIntervalSeconds: pace.jobs }, () => runTask(name, run))
      }
      const known = new Set(scheduled.map(({ name }) => name))
      for (const { name } of await boss.getSchedules()) if (!known.has(name)) await boss.unschedule(name)
    },
    stop: async () => {
      await boss?.stop({ graceful: true, timeout: drainMs })
      boss = undefined
    },
  }
}
