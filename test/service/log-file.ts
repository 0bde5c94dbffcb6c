/** The service's own log in a file, as it writes it, to look into. */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Log, makeLog } from '../../src/ground/log.ts'

export type LogFile = {
  log: Log
  text(): Promise<string>
  /** Lines with that message. They arrive a moment after they were written: poll. */
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
