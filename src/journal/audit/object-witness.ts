/** A witness in an object store: one object per head, which is never replaced. */
import type { Clock } from '../../platform/ground/clock.ts'
import type { Log } from '../../platform/ground/log.ts'
import { type ObjectStore, TooLargeFault } from '../../providers/objects/object-store.ts'
import { makeWitness, type NotedHead, parseWitnessLine, type Witness, type WitnessLine } from './witness.ts'

const concurrency = 8
/** A head has about 250 bytes. */
const maxHeadBytes = 4_096

/**
 * Names sort by time. A name belongs to one head, so an object that exists already is this head: an earlier attempt
 * stored it, and only its response was lost.
 */
const nameOf = ({ at, org_id, seq, digest }: NotedHead): string =>
  `${at.replaceAll(':', '-')}_${org_id}_${seq}_${digest.slice(0, 16)}.json`

export const makeObjectWitness = ({ store, clock, log }: { store: ObjectStore; clock: Clock; log: Log }): Witness => {
  const write = async (heads: NotedHead[], written: (head: NotedHead) => void): Promise<void> => {
    const waiting = [...heads]
    const faults: unknown[] = []
    const writeNext = async (): Promise<void> => {
      for (let head = waiting.shift(); head && faults.length === 0; head = waiting.shift()) {
        try {
          await store.put(nameOf(head), Buffer.from(`${JSON.stringify(head)}\n`))
          written(head)
        } catch (error) {
          faults.push(error)
        }
      }
    }
    await Promise.all(Array.from({ length: concurrency }, writeNext))
    if (faults.length > 0) throw faults[0]
  }
  return makeWitness({ clock, log, inBackground: true, writer: { write, close: () => store.close() } })
}

const readHead = async (store: ObjectStore, name: string): Promise<WitnessLine['head']> => {
  try {
    const content = await store.get(name, maxHeadBytes)
    return content && parseWitnessLine(content.toString('utf8'))
  } catch (error) {
    if (error instanceof TooLargeFault) return undefined
    throw error
  }
}

/** Reads a few objects at a time, in the order of their names. */
export async function* readObjectWitness(store: ObjectStore): AsyncGenerator<WitnessLine> {
  let line = 0
  let names: string[] = []
  async function* readNames(): AsyncGenerator<WitnessLine> {
    const heads = await Promise.all(names.map((name) => readHead(store, name)))
    names = []
    for (const head of heads) yield { line: ++line, head }
  }
  for await (const name of store.list()) {
    names.push(name)
    if (names.length === concurrency) yield* readNames()
  }
  yield* readNames()
}
