import { PgBoss } from 'pg-boss'
import type { Log } from '../../platform/ground/log.ts'

/** A background task. The worker runs it on its schedule, the development tools on demand. */
export type Task = {
  /** Five-field cron in UTC. Absent when a loop of the worker runs the task continuously. */
  cron?: string
  /** Runs until nothing is left to do, and returns counts of what it did. */
  run: () => Promise<Record<string, number>>
}

export type Tasks = Record<string, Task>

type Needs = {
  url: string
  log: Log
  tasks: Tasks
  /** How often to check for due schedules and for waiting jobs, in seconds. */
  pace?: { schedules: number; jobs: number }
}

const drainMs = 30_000

/** Runs each task on its schedule, once per tick however many workers there are. */
export const makeRecurring = ({ url, log, tasks, pace = { schedules: 30, jobs: 5 } }: Needs) => {
  let boss: PgBoss | undefined

  const runTask = async (name: string, run: Task['run']) => {
    try {
      const counts = await run()
      log.info({ task: name, ...counts }, 'task done')
      return counts
    } catch (error) {
      // pg-boss stores the error in its own tables and retries. The log is where operators look.
      log.error({ err: error, task: name }, 'task failed')
      throw error
    }
  }

  return {
    start: async (): Promise<void> => {
      boss = new PgBoss({
        connectionString: url,
        max: 2,
        application_name: 'tidings recurring',
        cronMonitorIntervalSeconds: pace.schedules,
        cronWorkerIntervalSeconds: pace.jobs,
      })
      // pg-boss recovers from a lost connection by itself. Without a listener the error would end the process.
      boss.on('error', (error) => log.warn({ err: error }, 'job queue error'))
      await boss.start()
      const scheduled = Object.entries(tasks).flatMap(([name, { cron, run }]) => (cron ? [{ name, cron, run }] : []))
      for (const { name, cron, run } of scheduled) {
        // At most one job waits and one runs. Ticks missed during a long run are made up for by one run.
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
    /** Starts no further task and waits for those that are running. */
    stop: async (): Promise<void> => {
      await boss?.stop({ graceful: true, timeout: drainMs })
      boss = undefined
    },
  }
}

export type Recurring = ReturnType<typeof makeRecurring>
