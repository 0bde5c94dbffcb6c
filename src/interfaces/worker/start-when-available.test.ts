import { expect, test } from 'vitest'
import { type Log, silentLog } from '../../platform/ground/log.ts'
import { startWhenAvailable } from './start-when-available.ts'

const lost = Object.assign(new Error('the connection was lost'), { code: 'ECONNRESET' })

const recordingLog = () => {
  const errors: string[] = []
  const log: Log = silentLog()
  log.error = ((_: unknown, message: string) => void errors.push(message)) as typeof log.error
  return { log, errors }
}

test('a start that fails for want of the database is undone, logged and tried again', async () => {
  const { log, errors } = recordingLog()
  const calls: string[] = []
  await startWhenAvailable({
    start: async () => {
      calls.push('start')
      if (calls.length === 1) throw lost
    },
    undo: async () => void calls.push('undo'),
    log,
    stopping: new AbortController().signal,
    pauseMs: 1,
  })
  expect(calls).toEqual(['start', 'undo', 'start'])
  expect(errors).toEqual(['worker start failed, retrying'])
})

test.each([lost, new Error('Cannot use a pool after calling end on the pool')])(
  'a start that the end of the process cuts off is undone, and neither logged nor tried again',
  async (fault) => {
    const { log, errors } = recordingLog()
    const calls: string[] = []
    const stopping = new AbortController()
    await startWhenAvailable({
      start: async () => {
        calls.push('start')
        stopping.abort()
        throw fault
      },
      undo: async () => void calls.push('undo'),
      log,
      stopping: stopping.signal,
    })
    expect([calls, errors]).toEqual([['start', 'undo'], []])
  },
)

test('another fault ends the process', async () => {
  const { log, errors } = recordingLog()
  const start = () => Promise.reject(new Error('a mistake'))
  const starting = startWhenAvailable({
    start,
    undo: async () => undefined,
    log,
    stopping: new AbortController().signal,
  })
  await expect(starting).rejects.toThrow('a mistake')
  expect(errors).toEqual([])
})
