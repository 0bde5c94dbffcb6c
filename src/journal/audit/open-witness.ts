/** The witness that AUDIT_WITNESS or `--witness` names: a file, or a place in an object store. */
import type { Clock } from '../../platform/ground/clock.ts'
import type { Log } from '../../platform/ground/log.ts'
import { parseObjectUrl } from '../../platform/ground/object-url.ts'
import { makeS3Store } from '../../providers/objects/s3-store.ts'
import { makeFileWitness, readFileWitness } from './file-witness.ts'
import { makeObjectWitness, readObjectWitness } from './object-witness.ts'
import type { Witness, WitnessLine } from './witness.ts'

type Needs = { name: string; region: string; clock: Clock; log: Log }

export const openWitness = ({ name, region, clock, log }: Needs): Witness => {
  const place = parseObjectUrl(name)
  if (!place) return makeFileWitness({ path: name, clock, log })
  return makeObjectWitness({ store: makeS3Store({ place, region }), clock, log })
}

/** Without a single head, the place is probably misspelled, so nothing would be compared. */
async function* readPlace(name: string, lines: AsyncIterable<WitnessLine>): AsyncGenerator<WitnessLine> {
  let isEmpty = true
  for await (const line of lines) {
    isEmpty = false
    yield line
  }
  if (isEmpty) throw new Error(`there are no objects at ${name}`)
}

/** Throws if the witness cannot be read. */
export async function* readWitness(name: string, region: string): AsyncGenerator<WitnessLine> {
  const place = parseObjectUrl(name)
  if (!place) {
    yield* readFileWitness(name)
    return
  }
  const store = makeS3Store({ place, region })
  try {
    yield* readPlace(name, readObjectWitness(store))
  } finally {
    store.close()
  }
}
