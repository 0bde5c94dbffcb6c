/** Finds the message that a delivery receipt is about, and reports its outcome. */
import { makeBatcher } from '../../../platform/db/batch.ts'
import { inChunks } from '../../../platform/db/in-chunks.ts'
import { retryOnOutage } from '../../../platform/db/outage.ts'
import type { Db } from '../../../platform/db/pool.ts'
import type { Clock } from '../../../platform/ground/clock.ts'
import type { Log } from '../../../platform/ground/log.ts'
import { dayMs } from '../../../platform/ground/units.ts'
import type { Report } from '../../handover.ts'
import { meaningOfToken, reportOfToken } from '../status-tokens.ts'
import { smppName } from './command-status.ts'
import type { SmppReceipt } from './deliver-sm.ts'
import {
  findReceipts,
  insertReceipts,
  lockParts,
  markDelivered,
  type ReceiptRow,
  type SubmittedPart,
  sweepReceipts,
} from './store.ts'

/** Reports what became of a message. A repeated id is ignored. */
export type ReportSms = (notification: {
  provider: string
  id: string
  orgId: string
  messageId: string
  report: Report
}) => Promise<void>

type Needs = { db: Db; clock: Clock; log: Log; report: ReportSms }

/** Receipts can be faster than the insert of the id, here or in another process. They wait for it, briefly. */
const maxHeld = 10_000
const heldMs = 60_000
const lookEveryMs = 1_000
const lookedUpAtOnce = 500

type Held = { receipt: SmppReceipt; until: number }

const makeRemember = ({ db, clock, log }: Needs) => {
  const batcher = makeBatcher<SubmittedPart, undefined>({
    name: 'sms_receipts',
    run: async (items) => {
      // One statement cannot write a row twice.
      const parts = [...new Map(items.map((item) => [item.providerMessageId, item])).values()]
      const values = {
        provider: smppName,
        ids: parts.map(({ providerMessageId }) => providerMessageId),
        orgIds: parts.map(({ orgId }) => orgId),
        messageIds: parts.map(({ messageId }) => messageId),
        part: parts.map(({ part }) => part),
        parts: parts.map(({ parts }) => parts),
        recipientEnds: parts.map(({ recipientEnd }) => recipientEnd),
        at: clock.now(),
      }
      await retryOnOutage(() => db.change(insertReceipts, values))
      return items.map(() => undefined)
    },
  })
  return {
    drained: batcher.drained,
    /** Stores the id of an accepted part. Never rejects: the message was sent. */
    store: (part: SubmittedPart): Promise<void> =>
      batcher.submit(part).catch((error) => {
        log.error({ err: error, message_id: part.messageId }, 'sms receipt id not stored')
      }),
  }
}

/** An id in another form may be that of another message, so the end of the recipient's number must agree. */
const matchOf = (rows: ReceiptRow[], { ids, recipientEnd }: SmppReceipt): ReceiptRow | undefined => {
  const agreeing = rows.filter((row) => recipientEnd.length < 4 || row.recipient_end === recipientEnd)
  return ids.flatMap((id) => agreeing.find((row) => row.provider_message_id === id) ?? [])[0]
}

const reportOf = ({ token, state, error }: SmppReceipt, at: Date): Report | undefined => {
  // The recipient is that of the message.
  const report = reportOfToken(token, '', at)
  return report && { ...report, token: state, detail: error === null ? state : `${state} err:${error}` }
}

export const makeSmppReceipts = (needs: Needs) => {
  const { db, clock, log, report: reportSms } = needs
  const stored = makeRemember(needs)
  const held = new Map<string, Held>()
  let looking: NodeJS.Timeout | undefined

  /** Whether every part of the message is delivered now. */
  const allDelivered = ({ org_id: orgId, message_id: messageId, parts, ...row }: ReceiptRow): Promise<boolean> =>
    db.tx(async (tx) => {
      const found = await tx.rows(lockParts, { orgId, messageId })
      await tx.change(markDelivered, { orgId, messageId, id: row.provider_message_id, at: clock.now() })
      const delivered = found.filter((part) => part.delivered || part.provider_message_id === row.provider_message_id)
      return new Set(delivered.map(({ part }) => part)).size >= parts
    })

  const apply = async (row: ReceiptRow, receipt: SmppReceipt): Promise<void> => {
    const report = reportOf(receipt, clock.now())
    if (!report) return
    if (report.kind === 'delivered' && row.parts > 1 && !(await allDelivered(row))) return
    const { org_id: orgId, message_id: messageId } = row
    await reportSms({ provider: smppName, id: `${messageId}:${report.kind}`, orgId, messageId, report })
  }

  const find = (ids: string[]): Promise<ReceiptRow[]> => db.rows(findReceipts, { provider: smppName, ids })

  /** Looks for the messages of the receipts that wait. */
  const lookAgain = async (): Promise<void> => {
    const now = clock.millis()
    for (const [id, { until }] of held) {
      if (until > now) continue
      held.delete(id)
      log.warn({ provider: smppName }, 'smpp receipt for an unknown message')
    }
    const waiting = [...held].slice(0, lookedUpAtOnce)
    const rows = await find(waiting.flatMap(([, { receipt }]) => receipt.ids))
    for (const [id, { receipt }] of waiting) {
      const row = matchOf(rows, receipt)
      if (!row) continue
      await apply(row, receipt)
      held.delete(id)
    }
  }

  const look = (): void => {
    if (looking !== undefined || held.size === 0) return
    looking = setTimeout(() => {
      lookAgain()
        .catch((error) => log.error({ err: error }, 'processing waiting smpp receipts failed'))
        .finally(() => {
          looking = undefined
          look()
        })
    }, lookEveryMs).unref()
  }

  const hold = (receipt: SmppReceipt): void => {
    const [oldest] = held.keys()
    if (held.size >= maxHeld && oldest !== undefined) held.delete(oldest)
    held.set(`${receipt.ids[0]} ${receipt.state}`, { receipt, until: clock.millis() + heldMs })
    look()
  }

  return {
    remember: stored.store,
    /** Rejects when the receipt could not be processed. The message centre should send it again. */
    take: async (receipt: SmppReceipt): Promise<void> => {
      const meaning = meaningOfToken(receipt.token)
      if (meaning === 'pending') return
      if (meaning === undefined) {
        log.warn({ provider: smppName, sms_status: receipt.state }, 'unknown sms status token')
        return
      }
      const row = matchOf(await find(receipt.ids), receipt)
      if (row) await apply(row, receipt)
      else hold(receipt)
    },
    close: async (): Promise<void> => {
      clearTimeout(looking)
      held.clear()
      await stored.drained()
    },
  }
}

export type SmppReceipts = ReturnType<typeof makeSmppReceipts>

/** Longer than any message centre tries to deliver a message. */
const keptMs = 14 * dayMs
const sweptAtOnce = 500

/** Deletes the ids of messages whose receipts no longer come. */
export const makeSweepReceipts =
  ({ db, clock }: Pick<Needs, 'db' | 'clock'>) =>
  async (): Promise<number> => {
    const before = new Date(clock.millis() - keptMs)
    return inChunks(sweptAtOnce, () => db.change(sweepReceipts, { before, limit: sweptAtOnce }))
  }
