/** A witness that is a file with one line per head. */
import { constants, createReadStream } from 'node:fs'
import { access, open } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import type { Clock } from '../../platform/ground/clock.ts'
import type { Log } from '../../platform/ground/log.ts'
import { makeWitness, parseWitnessLine, type Witness, type WitnessLine } from './witness.ts'

/** Each write starts on a new line, so that a torn line spoils no other. */
const append = async (path: string, lines: string[]): Promise<void> => {
  const file = await open(path, 'a', 0o600)
  try {
    const { size } = await file.stat()
    await file.appendFile((size > 0 ? '\n' : '') + lines.map((line) => `${line}\n`).join(''))
    await file.sync()
  } finally {
    await file.close()
  }
}

export const makeFileWitness = ({ path, clock, log }: { path: string; clock: Clock; log: Log }): Witness =>
  makeWitness({
    clock,
    log,
    inBackground: false,
    writer: {
      write: async (heads, written) => {
        await append(
          path,
          heads.map((head) => JSON.stringify(head)),
        )
        heads.forEach(written)
      },
      close: () => undefined,
    },
  })

export async function* readFileWitness(path: string): AsyncGenerator<WitnessLine> {
  // The reader of lines would not throw the error of a stream that cannot be opened.
  await access(path, constants.R_OK)
  let line = 0
  for await (const text of createInterface({ input: createReadStream(path, 'utf8'), crlfDelay: Infinity })) {
    line++
    if (text.trim() !== '') yield { line, head: parseWitnessLine(text) }
  }
}
