/** Bodies that try to occupy the service: the same ones for every route, ones from its schema, and a few of its own. */
import type { Entry } from '../hostile/surface.ts'
import type { Resolve } from '../hostile/values.ts'
import type { Field } from '../hostile/wire.ts'
import { largestValue, makeRandom, memberNames, textUnits } from './largest.ts'

export type Body = {
  name: string
  /** Bodies of one kind differ only in the member that is too large. */
  kind: string
  json: () => string
  headers?: () => readonly Field[]
}

const megabyte = 1_048_576

/** `unit,unit,…` of about so many bytes. */
const repeated = (unit: string, bytes: number): string => {
  const count = Math.floor(bytes / (unit.length + 1))
  return `${`${unit},`.repeat(count - 1)}${unit}`
}

const unknownMembers = (count: number): string =>
  `{${Array.from({ length: count }, (_, n) => `"${n.toString(36)}_":1`).join(',')}}`

const quoted = (unit: string, bytes: number): string => {
  const inJson = JSON.stringify(unit).slice(1, -1)
  return `"${inJson.repeat(Math.floor(bytes / inJson.length))}"`
}

const idempotent = (): readonly Field[] => [['Idempotency-Key', crypto.randomUUID()]]

const named = (name: string, json: () => string): Body => ({ name, kind: name, json })

/** Bodies that know nothing of the route. */
export const anyBodies: readonly Body[] = [
  { ...named('480,000 unknown members with an idempotency key', () => unknownMembers(480_000)), headers: idempotent },
  named('16 MB of "[],"', () => `[${repeated('[]', 15.9 * megabyte)}]`),
  named('5.9 MB of "[],"', () => `[${repeated('[]', 5.9 * megabyte)}]`),
  named('2,000,000 empty attachments', () => `{"attachments":[${'{},'.repeat(1_999_999)}{}]}`),
  named('3,000,000 opening brackets', () => '['.repeat(3_000_000)),
  named(
    'an array 150 levels deep, 15,000 times',
    () => `[${repeated(`${'['.repeat(150)}${']'.repeat(150)}`, 4.5 * megabyte)}]`,
  ),
  named('objects 3,000 levels deep', () => `${'{"a":'.repeat(3_000)}1${'}'.repeat(3_000)}`),
  named('5.9 MB of escapes', () => `{"a":"${'\\u0001'.repeat(1_000_000)}"}`),
  named('5.9 MB of pairs, the last broken', () => `["${'\\ud83d\\ude00'.repeat(480_000)}","\\ud800"]`),
  named('5.9 MB of digits', () => '1'.repeat(5.9 * megabyte)),
  named('5.9 MB of spaces', () => ' '.repeat(5.9 * megabyte)),
]

const inMember = (kind: string, name: string, json: () => string): Body => ({
  name: `${kind} in ${name}`,
  kind: `${kind} in a member`,
  json: () => `{"${name}":${json()}}`,
})

/** Bodies in which one member of the route is far too large. */
export const memberBodies = ({ body }: Entry, resolve: Resolve): Body[] => {
  const lists = memberNames(body, resolve, 'array').flatMap((name) => [
    inMember('1 MB of "1,"', name, () => `[${repeated('1', megabyte)}]`),
    inMember('5.9 MB of "1,"', name, () => `[${repeated('1', 5.9 * megabyte)}]`),
    inMember('5.9 MB of "{},"', name, () => `[${repeated('{}', 5.9 * megabyte)}]`),
    inMember('5.9 MB of texts', name, () => `[${repeated('"a@b.test"', 5.9 * megabyte)}]`),
  ])
  const maps = memberNames(body, resolve, 'object').map((name) =>
    inMember('480,000 members', name, () => unknownMembers(480_000)),
  )
  const texts = memberNames(body, resolve, 'string').flatMap((name) =>
    textUnits.map((unit) => inMember(`5.9 MB of ${JSON.stringify(unit)}`, name, () => quoted(unit, 5.9 * megabyte))),
  )
  return [...lists, ...maps, ...texts]
}

/** The largest bodies that the route accepts, or nearly accepts. */
export const largestBodies = ({ body }: Entry, resolve: Resolve, random: () => number): Body[] => {
  if (!body) return []
  return Array.from({ length: 12 }, (_, n) => {
    const seed = Math.floor(random() * 2 ** 32)
    return {
      name: `the largest body, variant ${n + 1}`,
      kind: 'the largest body',
      json: () => JSON.stringify(largestValue(body, { resolve, random: makeRandom(seed), budget: 5.5 * megabyte })),
      headers: n % 2 === 0 ? idempotent : () => [],
    }
  })
}

const links = (count: number): string =>
  Array.from({ length: count }, (_, n) => `<a href=\\"http://x.test/${n}\\">x</a>`).join('')

const recipients = (count: number): string =>
  JSON.stringify(Array.from({ length: count }, (_, n) => `reader${n}@reader.test`))

const mail = (more: string): string => `{"from":"hello@example.test","subject":"A","track_clicks":true,${more}}`

const toOne = '"to":["a@reader.test"]'

const list = (count: number, item: () => string): string => `[${Array.from({ length: count }, item).join(',')}]`

/** Valid requests that are much work for their size. With fewer recipients the work is shorter, but of the same kind. */
const emailBodies = (readers: number): Body[] => [
  named(`60,000 links, ${readers} recipients`, () => mail(`"to":${recipients(readers)},"html":"${links(60_000)}"`)),
  named('20,000 unclosed tags', () => mail(`${toOne},"html":"${'<div><a href=x '.repeat(20_000)}"`)),
  named('4 MB of text', () => mail(`${toOne},"text":"${'line of text\\n'.repeat(300_000)}"`)),
  named('3,000,000 line ends', () => mail(`${toOne},"text":"${'\\n'.repeat(3_000_000)}"`)),
  named('10 attachments of 390 KB', () =>
    mail(
      `${toOne},"text":"x","attachments":${list(10, () => `{"filename":"a.bin","content":"${'QUJD'.repeat(130_000)}"}`)}`,
    ),
  ),
]

const batchBodies = (readers: number): Body[] => [
  named(`60,000 links, ${readers} recipients`, () => mail(`"to":${recipients(readers)},"html":"${links(60_000)}"`)),
  named(`2 MB of text, ${readers} recipients`, () =>
    mail(`"to":${recipients(readers)},"text":"${'line of text\\n'.repeat(150_000)}"`),
  ),
  named('100 emails of 1,000 links', () => list(100, () => mail(`${toOne},"html":"${links(1_000)}"`))),
  named('100 emails to 50 recipients', () => list(100, () => mail(`"to":${recipients(50)},"text":"x"`))),
  named('100 emails with 5,000 unknown members', () => list(100, () => unknownMembers(5_000))),
  named('100 emails with 10,000 faults', () =>
    list(100, () => `{"to":[${repeated('1', 20_000)}],"tags":[${repeated('1', 20_000)}]}`),
  ),
]

export const ownBodies = ({ method, path }: Entry, quick: boolean): Body[] => {
  if (`${method} ${path}` === 'POST /api/v1/emails') return emailBodies(quick ? 2 : 50)
  if (`${method} ${path}` === 'POST /api/v1/emails/batch') return batchBodies(quick ? 2 : 100)
  return []
}
