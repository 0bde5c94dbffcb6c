/**
 * Puts long text messages together that a network delivers in parts. A part is acknowledged after it is stored, and the
 * last one after the whole message is. A group of parts is closed first and then taken under an id of its own, so a crash
 * in between neither loses the message nor stores it twice.
 */
import { inChunks } from '../../platform/db/in-chunks.ts'
import type { Db, Tx } from '../../platform/db/pool.ts'
import type { Clock } from '../../platform/ground/clock.ts'
import { sha256 } from '../../platform/ground/crypto.ts'
import { newId } from '../../platform/ground/ids.ts'
import type { Log } from '../../platform/ground/log.ts'
import { storableText } from '../../platform/ground/storable-text.ts'
import { dayMs, minuteMs } from '../../platform/ground/units.ts'
import type { InboundSms, SmsPart } from '../../providers/sms/sms-provider.ts'
import { findReceivingNumbers } from './store/inbound-rows.ts'
import {
  type ClosedPart,
  closeSmsParts,
  findClosedParts,
  findNewestParts,
  findOverdueParts,
  insertSmsPart,
  lockSmsParts,
  markSmsPartsTaken,
  type OverdueParts,
  type PartsKey,
  sweepSmsParts,
} from './store/sms-part-rows.ts'
import type { TakenSms, TakeSms } from './take-sms.ts'

/** The rest of a message is expected for this time. */
const waitMs = 10 * minuteMs
/** A part that comes again in this time is recognised. */
const keptMs = dayMs
const atOnce = 100

type TakenPart = TakenSms | { status: 'waiting' }
type Group = { orgId: string; groupId: string }
type Run = { first: number; text: string; at: Date }

const textOf = (content: Buffer): string => content.toString('utf16le')

/** Parts that follow each other belong together. A gap begins a new message. */
const runsOf = (parts: readonly ClosedPart[]): Run[] => {
  const runs: (Run & { next: number })[] = []
  for (const { part, content, received_at: at } of parts) {
    const last = runs.at(-1)
    if (last && last.next === part) {
      last.text += textOf(content)
      last.at = at > last.at ? at : last.at
      last.next++
    } else runs.push({ first: part, text: textOf(content), at, next: part + 1 })
  }
  return runs
}

const lock = (tx: Tx, { orgId, provider, from, to, reference, parts }: PartsKey) =>
  tx.row(lockSmsParts, { key: JSON.stringify([orgId, provider, from, to, reference, parts]) })

type Needs = { db: Db; clock: Clock; log: Log; takeSms: TakeSms }

export const makeLongSms = ({ db, clock, log, takeSms }: Needs) => {
  /** Stores closed parts as a message. Repeating it changes nothing. */
  const take = async ({ orgId, groupId }: Group): Promise<TakenSms> => {
    const parts = await db.rows(findClosedParts, { orgId, groupId })
    let taken: TakenSms = { status: 'repeated' }
    for (const { first, text, at } of runsOf(parts)) {
      const { provider, from_address: from, to_address: to } = parts[0] as ClosedPart
      const id = `${groupId} ${first}`
      taken = await takeSms({ provider, id, from, to, body: text, mediaUrl: [], isContinuation: first > 1, at })
    }
    await db.change(markSmsPartsTaken, { orgId, groupId, at: clock.now() })
    return taken
  }

  /** Stores a part. Returns its group if the message is complete. */
  const add = (key: PartsKey, part: number, message: InboundSms): Promise<Group | undefined> =>
    db.tx(async (tx) => {
      await lock(tx, key)
      const content = Buffer.from(message.body, 'utf16le')
      const digest = sha256(content)
      const newest = await tx.rows(findNewestParts, { ...key, digest })
      const { orgId } = key
      const now = clock.now()
      const same = newest.find((found) => found.part === part)
      if (same?.is_same) return same.is_closed ? { orgId, groupId: same.group_id } : undefined
      // Another part at the same place, or a message that is complete: the sender uses the reference again.
      const joins = newest[0] !== undefined && !newest[0].is_closed && !same
      const groupId = joins ? (newest[0] as { group_id: string }).group_id : newId('inboundSms', now.getTime())
      await tx.change(insertSmsPart, { ...key, groupId, part, content, digest, receivedAt: message.at, at: now })
      if ((joins ? newest.length : 0) + 1 < key.parts) return undefined
      await tx.change(closeSmsParts, { orgId, groupId, at: now })
      return { orgId, groupId }
    })

  const takePart = async (message: InboundSms, { reference, parts, part }: SmsPart): Promise<TakenPart> => {
    const [number] = await db.rows(findReceivingNumbers, { numbers: [message.to, `+${message.to}`] })
    if (!number) return takeSms(message)
    const [from, to] = [storableText(message.from), storableText(message.to)]
    const key = { orgId: number.org_id, provider: message.provider, from, to, reference, parts }
    const complete = await add(key, part, message)
    return complete ? take(complete) : { status: 'waiting' }
  }

  /** A message that cannot be taken now does not delay the others. The next run tries it again. */
  const takeOne = async (group: OverdueParts): Promise<boolean> => {
    const { org_id: orgId, group_id: groupId, from_address: from, to_address: to, ...rest } = group
    const fields = { org_id: orgId, provider: group.provider }
    try {
      await db.tx(async (tx) => {
        await lock(tx, { orgId, from, to, ...rest })
        await tx.change(closeSmsParts, { orgId, groupId, at: clock.now() })
      })
      await take({ orgId, groupId })
      log.info(fields, 'incomplete inbound sms taken')
      return true
    } catch (error) {
      log.error({ ...fields, err: error }, 'taking an incomplete inbound sms failed')
      return false
    }
  }

  const takeSmsPart = (message: InboundSms): Promise<TakenPart> =>
    message.part ? takePart(message, message.part) : takeSms(message)

  /** Takes the parts of messages whose rest did not come. Returns the number of messages. */
  const takeOverdue = async (): Promise<number> => {
    const before = new Date(clock.millis() - waitMs)
    const total = await inChunks(atOnce, async () => {
      const overdue = await db.rows(findOverdueParts, { before, limit: atOnce })
      let taken = 0
      for (const group of overdue) if (await takeOne(group)) taken++
      return taken
    })
    const takenBefore = new Date(clock.millis() - keptMs)
    await inChunks(atOnce, () => db.change(sweepSmsParts, { before: takenBefore, limit: atOnce }))
    return total
  }

  return { takeSmsPart, takeOverdue }
}
