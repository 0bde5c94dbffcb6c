/** Static responses: built once, compressed once, then served from memory. */
import type { IncomingHttpHeaders } from 'node:http'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { sha256 } from '../../../platform/ground/crypto.ts'
import type { RouteResponse } from '../route.ts'

/** In order of preference. */
const compressions = ['br', 'gzip'] as const
type Encoding = (typeof compressions)[number] | 'identity'

export type StoredPage = { type: string; tag: string; bodies: Record<Encoding, () => Promise<Buffer>> }

/** Calls `make` on first use and caches the result. After a failure the next use tries again. */
export const once = <T>(make: () => Promise<T>): (() => Promise<T>) => {
  let cached: Promise<T> | undefined
  return () => {
    cached ??= make().catch((error) => {
      cached = undefined
      throw error
    })
    return cached
  }
}

/** A higher quality takes seconds for a few megabytes and saves only a few percent. */
const brotliParams = { [constants.BROTLI_PARAM_QUALITY]: 5 }

export const store = (type: string, content: string): StoredPage => {
  const bytes = Buffer.from(content)
  return {
    type,
    tag: sha256(bytes).toString('base64url').slice(0, 22),
    bodies: {
      br: once(() => promisify(brotliCompress)(bytes, { params: brotliParams })),
      gzip: once(() => promisify(gzip)(bytes)),
      identity: async () => bytes,
    },
  }
}

const encodingFor = (accepted: string | string[] = ''): Encoding => {
  const weights = new Map<string, number>()
  for (const part of String(accepted).toLowerCase().split(',')) {
    const [name = '', ...parameters] = part.split(';').map((piece) => piece.trim())
    const weight = parameters.find((parameter) => parameter.startsWith('q='))
    weights.set(name, weight === undefined ? 1 : Number(weight.slice(2)))
  }
  return compressions.find((name) => (weights.get(name) ?? weights.get('*') ?? 0) > 0) ?? 'identity'
}

const matches = (ifNoneMatch: string, etag: string): boolean =>
  ifNoneMatch.split(',').some((part) => ['*', etag].includes(part.trim().replace(/^W\//, '')))

export const storedResponse = async (
  asked: IncomingHttpHeaders,
  { type, tag, bodies }: StoredPage,
  also: Record<string, string> = {},
): Promise<RouteResponse> => {
  const encoding = encodingFor(asked['accept-encoding'])
  // Each encoding has different bytes, so it needs its own strong ETag.
  const etag = encoding === 'identity' ? `"${tag}"` : `"${tag}-${encoding}"`
  const headers = {
    ...also,
    etag,
    vary: 'accept-encoding',
    'cache-control': 'public, max-age=300',
    'x-content-type-options': 'nosniff',
  }
  if (matches(asked['if-none-match'] ?? '', etag)) return { status: 304, headers }
  const encoded = encoding === 'identity' ? headers : { ...headers, 'content-encoding': encoding }
  return { status: 200, headers: encoded, file: { contentType: type, content: await bodies[encoding]() } }
}
