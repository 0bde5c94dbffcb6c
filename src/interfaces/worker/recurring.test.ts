import { afterEach, beforeEach, expect, test } from 'vitest'
import { makeTestDatabase, type TestDatabase } from '../../../test/service/database.ts'
import { type Log, silentLog } from '../../platform/ground/log.ts'
import { makeRecurring, type Recurring, type Tasks } from './recurring.ts'

let database: TestDatabase
let workers: Recurring[]

beforeEach(async () => {
  database = await makeTestDatabase('empty')
  workers = []
})

afterEach(async () => {
  await Promise.all(workers.map((worker) => worker.stop()))
  await database.drop()
})

const startWorker = async (tasks: Tasks, log: Log = silentLog()): Promise<Recurring> => {
  const worker = makeRecurring({ url: database.url, log, tasks, pace: { schedules: 1, jobs: 1 } })
  workers.push(worker)
  await worker.start()
  return worker
}

const everyMinute = '* * * * *'
const rarely = '0 0 1 1 *'
const nothing = async () => ({})

const schedules = () =>
  database.sql<{ name: string; cron: string; timezone: string }>(
    'select name, cron, timezone from pgboss.schedule order by name',
  )

/** Adds a job, as the schedule does. */
const addJob = (name: string) =>
  database.sql(`insert into pgboss.job (name, policy) select name, policy from pgboss.queue where name = $1`, [name])

test('every task is scheduled in UTC, and the schedule of a task that no longer exists is removed', async () => {
  const first = await startWorker({ kept: { cron: rarely, run: nothing }, former: { cron: rarely, run: nothing } })
  expect((await schedules()).map(({ name }) => name)).toEqual(['former', 'kept'])
  await first.stop()
  await startWorker({ kept: { cron: '5 4 * * *', run: nothing }, added: { cron: rarely, run: nothing } })
  expect(await schedules()).toEqual([
    { name: 'added', cron: rarely, timezone: 'UTC' },
    { name: 'kept', cron: '5 4 * * *', timezone: 'UTC' },
  ])
})

test('a task runs once per tick, however many workers there are', async () => {
  const ran: string[] = []
  const tasksOf = (worker: string): Tasks => ({
    tick: {
      cron: everyMinute,
      run: async () => {
        ran.push(worker)
        return { done: 1 }
      },
    },
  })
  await Promise.all([startWorker(tasksOf('a')), startWorker(tasksOf('b'))])
  await expect.poll(() => ran.length).toBeGreaterThan(0)
  // Both workers check several more times within the same tick.
  await new Promise((resolve) => setTimeout(resolve, 2_000))
  const [{ ticks }] = (await database.sql<{ ticks: number }>(
    "select count(distinct singleton_on)::int as ticks from pgboss.job where data->>'name' = 'tick'",
  )) as [{ ticks: number }]
  // A tick that comes while an earlier job is still waiting adds no run, so there may be fewer runs than ticks.
  expect(ran.length).toBeLessThanOrEqual(ticks)
})

test('stop waits for the task that is running and starts no other', async () => {
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  let [started, ended] = [0, 0]
  const worker = await startWorker({
    long: {
      cron: rarely,
      run: async () => {
        started++
        await gate
        ended++
        return {}
      },
    },
  })
  await addJob('long')
  await expect.poll(() => started).toBe(1)
  let stopped = false
  const stopping = worker.stop().then(() => {
    stopped = true
  })
  await addJob('long')
  await new Promise((resolve) => setTimeout(resolve, 700))
  expect(stopped).toBe(false)
  open()
  await stopping
  expect([started, ended]).toEqual([1, 1])
  expect(await database.sql("select state from pgboss.job where name = 'long' order by created_on")).toEqual([
    { state: 'completed' },
    { state: 'created' },
  ])
})

test('a failing task is logged and retried, and other tasks still run', async () => {
  const logged: { task: string; text: string }[] = []
  const log = {
    info: () => undefined,
    warn: () => undefined,
    error: ({ task }: { task: string }, text: string) => logged.push({ task, text }),
  } as unknown as Log
  let ran = 0
  await startWorker(
    {
      failing: {
        cron: rarely,
        run: async () => {
          throw new Error('not today')
        },
      },
      fine: {
        cron: rarely,
        run: async () => {
          ran++
          return {}
        },
      },
    },
    log,
  )
  await addJob('failing')
  await addJob('fine')
  await expect.poll(() => [logged.length > 0, ran]).toEqual([true, 1])
  expect(logged[0]).toEqual({ task: 'failing', text: 'task failed' })
  // On a busy machine it has been retried by now.
  const isRetried = "select state = 'retry' or retry_count > 0 as retried from pgboss.job where name = 'failing'"
  await expect.poll(() => database.sql(isRetried)).toEqual([{ retried: true }])
})

test('a worker that was never started can be stopped', async () => {
  await makeRecurring({ url: database.url, log: silentLog(), tasks: {} }).stop()
})
