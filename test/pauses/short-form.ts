/** Chooses the payloads of the short form: every route gets a few, and every kind of route gets every kind of payload. */
import type { Entry } from '../hostile/surface.ts'
import type { Payload, Sending } from './payloads.ts'

const area = (path: string): string => path.match(/^\/api\/(?:v1|internal|auth|dev|webhooks)\b/)?.[0] ?? 'other'

const shape = ({ method, body }: Entry): string => {
  if (method === 'GET') return 'GET'
  return body ? 'with a body' : 'without a body'
}

/** The members of a body are validated in the same way in every area. */
export const kindOfRoute = (entry: Entry, group: Payload['group']): string =>
  group === 'member' ? shape(entry) : `${area(entry.path)}, ${shape(entry)}`

/** The service refuses every body of a GET in the same way. */
export const isInShortForm = (entry: Entry, group: Payload['group']): boolean =>
  entry.method !== 'GET' || group !== 'body'

/** One payload for each route, and then the kinds that no route has yet, to those with the fewest payloads. */
const shareAmong = (routes: Sending[], candidates: Map<Entry, Payload[]>): void => {
  const sent = new Set<string>()
  const send = ({ payloads }: Sending, payload: Payload): void => {
    payloads.push(payload)
    sent.add(payload.kind)
  }
  const of = ({ entry }: Sending): Payload[] => candidates.get(entry) ?? []
  for (const [n, route] of routes.entries()) {
    const own = of(route)
    const payload = own.find(({ kind }) => !sent.has(kind)) ?? own[n % own.length]
    if (payload) send(route, payload)
  }
  for (const kind of new Set(routes.flatMap(of).map((payload) => payload.kind))) {
    if (sent.has(kind)) continue
    const able = routes.filter((route) => of(route).some((payload) => payload.kind === kind))
    const [least] = able.toSorted((a, b) => a.payloads.length - b.payloads.length)
    const payload = least && of(least).find((one) => one.kind === kind)
    if (payload) send(least, payload)
  }
}

const sharedGroups = ['body', 'member', 'largest', 'head', 'generated'] as const

export const chooseFew = (all: Sending[]): Sending[] => {
  const chosen = all.map(({ entry, payloads }) => ({
    entry,
    payloads: payloads.filter(({ group }) => group === 'own'),
  }))
  for (const group of sharedGroups) {
    const candidates = new Map(
      all
        .filter(({ entry }) => isInShortForm(entry, group))
        .map(({ entry, payloads }) => [entry, payloads.filter((payload) => payload.group === group)]),
    )
    const kinds = Map.groupBy(chosen, ({ entry }) => kindOfRoute(entry, group))
    for (const routes of kinds.values()) shareAmong(routes, candidates)
  }
  return chosen
}
