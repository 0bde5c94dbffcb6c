/** Writes the log of a service to a file that tests can read. */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Log, makeLog } from '../../src/platform/ground/log.ts'

export type LogFile = {
  log: Log
  text(): Promise<string>
  /** The lines with that message. They appear a moment after they were logged, so poll for them. */
  lines(message: string): Promise<Record<string, unknown>[]>
  remove(): Promise<void>
}

export const openLogFile = async (): Promise<LogFile> => {
  const folder = await mkdtemp(join(tmpdir(), 'tidings-log-'))
  const file = join(folder, 'log')
  const text = () => readFile(file, 'utf8').catch(() => '')
  return {
    log: makeLog({ level: 'info', format: 'json', destination: file }),
    text,
    lines: async (message) => {
      const all = (await text()).split('\n').slice(0, -1)
      return all.map((line) => JSON.parse(line)).filter(({ msg }) => msg === message)
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}
