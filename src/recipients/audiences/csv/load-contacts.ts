/** Loads the contacts of a CSV file in the transaction of its import. */
import type { Tx } from '../../../platform/db/pool.ts'
import { startSlices } from '../../../platform/ground/event-loop-turns.ts'
import { newId } from '../../../platform/ground/ids.ts'
import type { Environment } from '../../../platform/ground/scope.ts'
import { holdContacts, insertImported, matchImportedEmails, matchImportedPhones } from '../store/import-rows.ts'
import type { CsvContact } from './csv-row.ts'

type LoadedContacts = {
  /** The contact of each row, in the order of the rows. Undefined when it was deleted meanwhile. */
  ids: (string | undefined)[]
  created: Set<string>
}

type Into = { orgId: string; tenantId: string | null; environment: Environment; at: Date }

type Candidate = CsvContact & { id: string; place: number }

/** Bounds what one statement sends: encoding its parameters blocks the event loop. */
const chunkRows = 1_000
const chunkChars = 500_000

/** Calls `work` with parts of the list, in order, and lets other requests run in between. */
const inChunks = async <T>(
  list: readonly T[],
  work: (part: T[]) => Promise<unknown>,
  sizeOf: (item: T) => number = () => 0,
): Promise<void> => {
  const slices = startSlices()
  let part: T[] = []
  let size = 0
  for (const item of list) {
    part.push(item)
    size += sizeOf(item)
    if (part.length < chunkRows && size < chunkChars) continue
    await work(part)
    await slices.next()
    part = []
    size = 0
  }
  if (part.length > 0) await work(part)
}

const folded = (email: string): string => email.toLowerCase()

/** Inserts contacts in the order of their addresses, so that two imports of the same people cannot deadlock. */
const insert = async (tx: Tx, into: Into, candidates: Candidate[], created: Set<string>): Promise<void> => {
  const keyOf = ({ email, phone }: Candidate): string => (email === null ? `${phone}` : folded(email))
  const sorted = candidates
    .map((candidate) => ({ candidate, key: keyOf(candidate) }))
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .map(({ candidate }) => candidate)
  const insertPart = async (part: Candidate[]): Promise<void> => {
    const rows = await tx.rows(insertImported, {
      ...into,
      ids: part.map(({ id }) => id),
      names: part.map(({ name }) => name),
      emails: part.map(({ email }) => email),
      phones: part.map(({ phone }) => phone),
      metadata: part.map(({ metadata }) => metadata),
    })
    for (const { id } of rows) created.add(id)
  }
  await inChunks(sorted, insertPart, ({ metadata }) => metadata.length)
}

/** The contacts that exist by address, keyed by the address as the file has it. */
const matchEmails = async (tx: Tx, { orgId, tenantId }: Into, emails: string[]): Promise<Map<string, string>> => {
  const found = new Map<string, string>()
  await inChunks(emails, async (part) => {
    const rows = await tx.rows(matchImportedEmails, { orgId, tenantId, emails: part })
    for (const { email, id } of rows) found.set(email, id)
  })
  return found
}

const matchPhones = async (tx: Tx, { orgId, tenantId }: Into, phones: string[]): Promise<Map<string, string>> => {
  const found = new Map<string, string>()
  await inChunks(phones, async (part) => {
    const rows = await tx.rows(matchImportedPhones, { orgId, tenantId, phones: part })
    for (const { phone, id } of rows) found.set(phone, id)
  })
  return found
}

/** Rows with an address: the first row of each address is inserted unless a contact has that address. */
const loadByEmail = async (tx: Tx, into: Into, rows: Candidate[], created: Set<string>) => {
  const first = new Map<string, Candidate>()
  for (const row of rows) {
    const key = folded(row.email as string)
    if (!first.has(key)) first.set(key, row)
  }
  const candidates = [...first.values()]
  await insert(tx, into, candidates, created)
  const known = candidates.filter(({ id }) => !created.has(id)).map(({ email }) => email as string)
  const matched = await matchEmails(tx, into, known)
  return (row: Candidate): string | undefined => {
    const { id, email } = first.get(folded(row.email as string)) as Candidate
    return created.has(id) ? id : matched.get(email as string)
  }
}

/**
 * Rows with only a number. They match a contact that existed before, or the contact that an earlier row of the file
 * created with that number. Otherwise the first row of each number is inserted.
 */
const loadByPhone = async (
  tx: Tx,
  into: Into,
  rows: Candidate[],
  existing: Map<string, string>,
  earlier: Map<string, Candidate>,
  created: Set<string>,
) => {
  const first = new Map<string, Candidate>()
  const idOf = new Map<string, string>(existing)
  for (const row of rows) {
    const phone = row.phone as string
    const before = earlier.get(phone)
    if (idOf.has(phone) || first.has(phone)) continue
    if (before && before.place < row.place) idOf.set(phone, before.id)
    else first.set(phone, row)
  }
  const candidates = [...first.values()]
  await insert(tx, into, candidates, created)
  const taken = candidates.filter(({ id }) => !created.has(id)).map(({ phone }) => phone as string)
  for (const [phone, id] of await matchPhones(tx, into, taken)) idOf.set(phone, id)
  for (const { id, phone } of candidates) if (created.has(id)) idOf.set(phone as string, id)
  return (row: Candidate): string | undefined => idOf.get(row.phone as string)
}

const holdAll = async (tx: Tx, orgId: string, ids: string[]): Promise<Set<string>> => {
  const held = new Set<string>()
  await inChunks(ids.sort(), async (part) => {
    for (const { id } of await tx.rows(holdContacts, { orgId, ids: part })) held.add(id)
  })
  return held
}

export const loadContacts = async (tx: Tx, into: Into, contacts: CsvContact[]): Promise<LoadedContacts> => {
  const created = new Set<string>()
  const rows = contacts.map((contact, place): Candidate => {
    return { ...contact, place, id: newId('contact', into.at.getTime()) }
  })
  const [byEmail, byPhone] = [rows.filter(({ email }) => email !== null), rows.filter(({ email }) => email === null)]
  // Read before anything is inserted, so that a row matches only contacts that existed before it.
  const existing = await matchPhones(tx, into, [...new Set(byPhone.map(({ phone }) => phone as string))])
  const idByEmail = await loadByEmail(tx, into, byEmail, created)
  const earlier = new Map<string, Candidate>()
  for (const row of byEmail) {
    if (row.phone !== null && created.has(row.id) && !earlier.has(row.phone)) earlier.set(row.phone, row)
  }
  const idByPhone = await loadByPhone(tx, into, byPhone, existing, earlier, created)
  const ids = rows.map((row) => (row.email === null ? idByPhone(row) : idByEmail(row)))
  const known = [...new Set(ids.filter((id) => id !== undefined && !created.has(id)))] as string[]
  const held = await holdAll(tx, into.orgId, known)
  return { ids: ids.map((id) => (id !== undefined && (created.has(id) || held.has(id)) ? id : undefined)), created }
}
