/**
 * Renders the message of every recipient as a line for COPY, a few contacts at a time, and refuses the whole send for
 * the first one that cannot be sent.
 */
import type { Db } from '../../platform/db/pool.ts'
import { Failure, invalid } from '../../platform/ground/errors.ts'
import { startSlices } from '../../platform/ground/event-loop-turns.ts'
import type { MaybePromise } from '../../platform/ground/maybe-promise.ts'
import type { BulkChannel, BulkSend } from '../messages/channel-adapter.ts'
import type { Draft } from '../messages/draft.ts'
import { scheduledRow } from '../messages/rows.ts'
import { isVariables, type TemplateVariables } from '../templates/language.ts'
import type { OpenTemplate } from '../templates/open-template.ts'
import { missingVariables } from '../templates/render-parts.ts'
import { copyLine } from './copy-text.ts'
import { makeMeasure, tooLarge } from './message-size.ts'
import type { Slot } from './plan-slots.ts'
import { type ContactValues, readContactValues } from './store/recipient-rows.ts'
import { stagedTable } from './store/staged-rows.ts'
import { variantLetter } from './variants.ts'

/** Contacts that are read together: at most this many, with at most this much metadata. */
const contactsAtOnce = 200
const bytesAtOnce = 8_000_000

/** Lines are collected up to this length, because each write of a single line costs more than the line. */
const lineCharacters = 65_536

export function* slicesOfSlots(slots: readonly Slot[]): Generator<Slot[]> {
  let slice: Slot[] = []
  let bytes = 0
  for (const slot of slots) {
    if (slice.length === contactsAtOnce || (slice.length > 0 && bytes + slot.bytes > bytesAtOnce)) {
      yield slice
      slice = []
      bytes = 0
    }
    slice.push(slot)
    bytes += slot.bytes
  }
  if (slice.length > 0) yield slice
}

type Composition = {
  channel: BulkChannel
  send: BulkSend
  template: OpenTemplate
  variables: TemplateVariables
  /** Whether a name that no recipient supplies refuses the send. */
  checksMissing: boolean
  /** Sees every message that can be sent. */
  onMessage?: (draft: Draft) => MaybePromise<void>
}

/** @property deferred How many of the rows quiet hours moved. */
export type ComposedRows = { rows: number; deferred: number; bytes: number }

const firstWord = (name: string | null): string | null => name?.trim().split(/\s+/, 1)[0] || null

/** The variables of one recipient: its contact, then those of the request, then the contact's metadata. */
const variablesOf = (
  { id, name, email, phone, metadata }: ContactValues,
  requested: TemplateVariables,
): TemplateVariables => {
  const fields = { name, first_name: firstWord(name), email, phone }
  const contact = { id, ...fields }
  const given = requested.contact
  return {
    ...fields,
    ...requested,
    // Only this key is merged. Any other key of the request replaces the contact's own.
    contact: given === undefined ? contact : isVariables(given) ? { ...contact, ...given } : given,
    ...metadata,
  }
}

export const makeComposeRows = (
  { db }: { db: Db },
  { channel, send, template, variables: requested, checksMissing, onMessage }: Composition,
) => {
  const measure = makeMeasure()
  const slices = startSlices()
  const rows: ComposedRows = { rows: 0, deferred: 0, bytes: 0 }
  /** The names that no recipient has supplied so far. Undefined before the first recipient. */
  let unsupplied: Set<string> | undefined = checksMissing ? undefined : new Set()
  /** Reported only if no name is missing for everybody, because missing names are refused first. */
  let refusal: Failure | undefined

  const noteSupplied = (variables: TemplateVariables): void => {
    if (unsupplied?.size === 0) return
    const missing = new Set(template.missing(variables))
    unsupplied = unsupplied ? unsupplied.intersection(missing) : missing
  }

  /** A waiting message has room for the longest of its subjects. */
  const subjectsOf = (variables: TemplateVariables, waits: boolean): string[] | null => {
    if (!waits) return null
    const subjects = template.subjects(variables)
    const empty = subjects.indexOf('')
    if (empty >= 0) throw invalid(['subject_variants', empty], 'custom', 'Renders to an empty subject.')
    return subjects
  }

  const lineOf = async (slot: Slot, variables: TemplateVariables): Promise<string> => {
    const subjects = subjectsOf(variables, slot.waits)
    const rendered = template.render(variables, slot.variant ?? 0)
    const longest = subjects?.reduce((a, b) => (Buffer.byteLength(b) > Buffer.byteLength(a) ? b : a))
    const { draft, content } = await channel.compose(send, slot.address, {
      ...rendered,
      ...(longest !== undefined && { subject: longest }),
    })
    if (slices.over()) await slices.next()
    rows.bytes = measure(slot.contactId, content)
    if (slices.over()) await slices.next()
    const seeing = onMessage?.(draft)
    if (seeing) await seeing
    draft.scheduledAt = slot.dueAt
    if (slot.variant !== null) draft.metadata = { subject_variant: variantLetter(slot.variant) }
    const row = scheduledRow(draft, content, send.at)
    if (slot.deferred) rows.deferred++
    // A waiting message is not due until its subject is chosen.
    const waiting = subjects && { subject: null, due_at: null }
    return copyLine({ ...row, place: rows.rows++, subjects, ...waiting }, stagedTable)
  }

  const named = ({ contactId }: Slot, failure: Failure): Failure => {
    if (failure.code !== 'PAYLOAD_TOO_LARGE' || failure.detail.errors) return failure
    return tooLarge(contactId, failure.message, failure)
  }

  const compose = async (slot: Slot, contact: ContactValues): Promise<string | undefined> => {
    const variables = variablesOf(contact, requested)
    noteSupplied(variables)
    if (refusal) return undefined
    try {
      return await lineOf(slot, variables)
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      refusal = named(slot, error)
      if (unsupplied?.size === 0) throw refusal
      return undefined
    }
  }

  return {
    /** The lines of these recipients. A contact that was deleted meanwhile has none. */
    lines: async function* (slots: readonly Slot[]): AsyncGenerator<string> {
      const ids = slots.map(({ contactId }) => contactId)
      const found = await db.rows(readContactValues, { orgId: send.by.orgId, ids })
      const contacts = new Map(found.map((row) => [row.id, row]))
      let text = ''
      for (const slot of slots) {
        const contact = contacts.get(slot.contactId)
        if (contact) text += (await compose(slot, contact)) ?? ''
        if (text.length >= lineCharacters) {
          yield text
          text = ''
        }
        if (slices.over()) await slices.next()
      }
      if (text !== '') yield text
    },
    /** Throws what refuses the send, once all recipients were read. */
    finish: (): void => {
      if (unsupplied && unsupplied.size > 0) throw missingVariables(unsupplied)
      if (refusal) throw refusal
    },
    counts: (): ComposedRows => rows,
  }
}
