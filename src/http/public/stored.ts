/** Bytes that are the same for everyone: made once, compressed once, then answered from memory. */
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { sha256 } from '../../ground/crypto.ts'

/** The better one first. */
const compressions = ['br', 'gzip'] as const
type Encoding = (typeof compressions)[number] | 'identity'

export type StoredPage = { type: string; tag: string; bodies: Record<Encoding, () => Promise<Buffer>> }

/** Made at its first use. What failed is tried again at the next. */
export const once = <T>(make: () => Promise<T>): (() => Promise<T>) => {
  let made: Promise<T> | undefined
  return () => {
    made ??= make().catch((error) => {
      made = undefined
      throw error
    })
    return made
  }
}

/** Above this quality a few megabytes take seconds, and shrink by hundredths. */
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

const holds = (ifNoneMatch: string, etag: string): boolean =>
  ifNoneMatch.split(',').some((part) => ['*', etag].includes(part.trim().replace(/^W\//, '')))

export const sendStored = async (
  request: FastifyRequest,
  reply: FastifyReply,
  { type, tag, bodies }: StoredPage,
): Promise<FastifyReply> => {
  const encoding = encodingFor(request.headers['accept-encoding'])
  // Each encoding is other bytes, and a strong tag must not be shared between them.
  const etag = encoding === 'identity' ? `"${tag}"` : `"${tag}-${encoding}"`
  reply.headers({
    etag,
    vary: 'accept-encoding',
    'cache-control': 'public, max-age=300',
    'x-content-type-options': 'nosniff',
  })
  if (holds(request.headers['if-none-match'] ?? '', etag)) return reply.code(304).send()
  if (encoding !== 'identity') reply.header('content-encoding', encoding)
  return reply.type(type).send(await bodies[encoding]())
}
