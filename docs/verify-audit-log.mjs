// Verifies the output of `tidings ops audit export` without the service and without any library:
//
//   AUDIT_SIGNING_SECRET=... node verify-audit-log.mjs audit.ndjson [--head <head>]
//
// Prints what it checked and the id of every entry with a fault. Exits with 1 if there is a fault.
import { createHash, createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'

const secret = process.env.AUDIT_SIGNING_SECRET
const [file, option, keptHead] = process.argv.slice(2)
if (!secret || !file || (option !== undefined && (option !== '--head' || !keptHead))) {
  console.error('Usage: AUDIT_SIGNING_SECRET=... node verify-audit-log.mjs <file> [--head <head>]')
  process.exit(2)
}

const hmac = (text) => createHmac('sha256', secret).update(text).digest('hex')

/** JSON without spaces, and with the keys of every object sorted by UTF-16 code unit. */
const canonical = (value) => {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.keys(value).sort()
  return `{${members.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(',')}}`
}

const signatureOf = (e) =>
  hmac(canonical([e.id, e.org_id, e.action, e.actor_user_id, e.resource_type, e.resource_id, e.metadata, e.created_at]))

/** The seal covers the address and the user agent. `signed` is false for `ops org suspend` and `unsuspend`. */
const sealOf = (e, signed) =>
  `2:${hmac(
    canonical([
      2,
      e.id,
      e.org_id,
      e.action,
      e.resource_type,
      e.resource_id,
      e.metadata,
      e.created_at,
      e.ip_address,
      e.user_agent,
      signed,
    ]),
  )}`

const digestOf = (previous, seq, e) =>
  createHash('sha256')
    .update(Buffer.from(previous, 'hex'))
    .update(canonical([seq, e.org_id, e.id, e.action, e.resource_type, e.resource_id, e.metadata, e.created_at]))
    .digest('hex')

const faults = []
const report = (fault, id) => faults.push(`${fault} ${id}`)

const checkEntry = (e, orgId) => {
  const unsigned = e.signature === null && e.seal !== null && e.seal === sealOf(e, false)
  if (e.org_id !== orgId) report('foreign', e.id)
  if (!unsigned && (e.signature === null || e.signature === '')) report('stripped', e.id)
  else if (!unsigned && e.signature !== signatureOf(e)) report('invalid', e.id)
  // Entries of early releases have no seal.
  if (!unsigned && e.seal !== null && e.seal !== sealOf(e, true)) report('resealed', e.id)
}

const lines = readFileSync(file, 'utf8').trimEnd().split('\n').map(JSON.parse)
const { org_id: orgId, pruned, head } = lines[0]
let last = { seq: pruned.seq, digest: pruned.digest ?? '' }
const digests = new Map([[last.seq, last.digest]])

for (const { seq, digest, entry_id: id, entry } of lines.slice(1)) {
  if (entry === null) report('missing', id)
  else checkEntry(entry, orgId)
  if (seq === null) continue
  const follows = seq === last.seq + 1 && (entry === null || digest === digestOf(last.digest, seq, entry))
  if (!follows) report('broken', id)
  last = { seq, digest }
  digests.set(seq, digest)
}

const isSigned = (end, { seq, digest, signature }) => signature === hmac(canonical([end, orgId, seq, digest]))
if (head.seq !== last.seq || (head.seq > 0 && head.digest !== last.digest)) report('cut off', 'head')
if (head.seq > 0 && !isSigned('registered', head) && !isSigned('head', head)) report('invalid', 'head')
if (pruned.digest !== null && !isSigned('pruned', pruned)) report('invalid', 'pruned end')

// A head that you kept earlier, as `tidings ops audit head` prints it. The log must still contain it.
if (keptHead) {
  const [keptOrg, seq, digest, signature] = keptHead.split(':')
  const kept = { seq: Number(seq), digest, signature }
  if (keptOrg !== orgId || !(isSigned('registered', kept) || isSigned('head', kept))) report('invalid', 'kept head')
  else if (kept.seq >= pruned.seq && digests.get(kept.seq) !== digest) report('rolled back', `to before ${kept.seq}`)
}

console.log(`${lines.length - 1} entries of ${orgId}, links ${pruned.seq + 1} to ${head.seq}`)
for (const fault of faults) console.log(fault)
console.log(faults.length === 0 ? 'intact' : `${faults.length} faults`)
process.exit(faults.length === 0 ? 0 : 1)
