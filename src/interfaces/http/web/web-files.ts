/** Serves the dashboard: its hashed files, and its page at every path that belongs to no other part of the service. */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { extname, join, relative, sep } from 'node:path'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Failure } from '../../../platform/ground/errors.ts'
import type { WebPages } from '../server.ts'

const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.json': 'application/json; charset=utf-8',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
}

/** No inline script or style and no other origin. Mail is shown in a frame with a policy of its own. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "frame-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ')

const commonHeaders = { 'x-content-type-options': 'nosniff', 'referrer-policy': 'same-origin' }

const pageHeaders = {
  ...commonHeaders,
  'content-security-policy': contentSecurityPolicy,
  'cache-control': 'no-cache',
  vary: 'accept, accept-encoding',
}

const mailFrame = '/mail-frame.html'

/**
 * The page that shows mails of strangers. It has no origin, so it reads nothing of the dashboard and its requests carry no
 * session. It runs its own script and no other, and loads pictures of other servers only after the reader has asked for
 * them. A policy cannot leave out one server: the dashboard removes the addresses of its own.
 */
const mailFrameHeaders = (page: Buffer, pictures: string): Record<string, string> => {
  const script = /<script>(.*)<\/script>/s.exec(page.toString())?.[1] ?? ''
  const hash = createHash('sha256').update(script).digest('base64')
  return {
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'SAMEORIGIN',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-cache',
    vary: 'accept-encoding',
    'content-security-policy': [
      "default-src 'none'",
      `script-src 'sha256-${hash}'`,
      "style-src 'unsafe-inline'",
      `img-src ${pictures}`,
      "base-uri 'none'",
      "form-action 'none'",
      'sandbox allow-scripts',
    ].join('; '),
  }
}

const wantsRemotePictures = (url: string): boolean => url.endsWith('?pictures=remote')

/** Browsers name the type. Programs that accept anything get the error body of an unknown path. */
export const wantsPage = (accept = ''): boolean => /(?:^|,)\s*text\/html\s*(?:;|,|$)/i.test(accept)

/** Paths of other parts. An unknown path under one of them is an error, not a page of the dashboard. */
const ofOthers = /^\/(?:api|v1|docs|assets|healthz|readyz|metrics|t|u)(?:\/|$)/

const pathOf = (url: string): string => url.split(/[?#]/, 1)[0] as string

type Encoding = 'br' | 'gzip' | 'identity'
const suffixes: Record<Encoding, string> = { br: '.br', gzip: '.gz', identity: '' }

const encodingFor = (accepted: string | string[] = '', has: (suffix: string) => boolean): Encoding => {
  const offered = String(accepted)
    .toLowerCase()
    .split(',')
    .map((part) => part.trim())
    .filter((part) => !/;\s*q=0(\.0*)?$/.test(part))
    .map((part) => part.split(';', 1)[0] as string)
  return (['br', 'gzip'] as const).find((name) => offered.includes(name) && has(suffixes[name])) ?? 'identity'
}

const filesIn = (folder: string): Set<string> =>
  new Set(
    readdirSync(folder, { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile())
      .map((entry) => `/${relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/')}`),
  )

/** Undefined when the dashboard has not been built. */
export const makeWebFiles = (folder: string | undefined): WebPages | undefined => {
  if (folder === undefined || !existsSync(join(folder, 'index.html'))) return undefined
  const files = filesIn(folder)
  const cache = new Map<string, Promise<Buffer>>()
  /** The files are gone when a newer build has taken their place before the service starts again. */
  const open = (path: string): Promise<Buffer> =>
    readFile(join(folder, path)).catch((error: NodeJS.ErrnoException) => {
      cache.delete(path)
      throw error.code === 'ENOENT' ? new Failure('NOT_FOUND') : error
    })
  const read = (path: string): Promise<Buffer> => {
    const known = cache.get(path) ?? open(path)
    cache.set(path, known)
    return known
  }

  const isAsset = (path: string): boolean =>
    files.has(path) && extname(path) in types && !path.startsWith('/.') && path !== '/index.html'

  const sendFile = async (
    request: FastifyRequest,
    reply: FastifyReply,
    path: string,
    headers: Record<string, string>,
  ): Promise<FastifyReply> => {
    const encoding = encodingFor(request.headers['accept-encoding'], (suffix) => files.has(path + suffix))
    const content = await read(path + suffixes[encoding])
    if (encoding !== 'identity') reply.header('content-encoding', encoding)
    return reply
      .code(200)
      .headers(headers)
      .type(types[extname(path)] as string)
      .send(content)
  }

  const sendMailFrame = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const pictures = wantsRemotePictures(request.url) ? 'data: http: https:' : 'data:'
    return sendFile(request, reply, mailFrame, mailFrameHeaders(await read(mailFrame), pictures))
  }

  return {
    serves: ({ method, url, headers }) => {
      if (method !== 'GET' && method !== 'HEAD') return false
      const path = pathOf(url)
      return isAsset(path) || (!ofOthers.test(path) && wantsPage(headers.accept))
    },
    send: (request, reply) => {
      const path = pathOf(request.url)
      if (!isAsset(path)) return sendFile(request, reply, '/index.html', pageHeaders)
      if (path === mailFrame) return sendMailFrame(request, reply)
      const hashed = path.startsWith('/assets/')
      const caching = hashed ? 'public, max-age=31536000, immutable' : 'no-cache'
      return sendFile(request, reply, path, { ...commonHeaders, 'cache-control': caching, vary: 'accept-encoding' })
    },
  }
}

/** The build next to the bundle. Undefined when the service runs from its sources, as in tests. */
export const webFolderOf = (moduleFolder: string): string | undefined =>
  existsSync(join(moduleFolder, 'tidings.mjs')) ? join(moduleFolder, 'web') : undefined
