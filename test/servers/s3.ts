/** The parts of the S3 API that the service uses, on loopback. It refuses every request that S3 would refuse. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

export type S3Server = {
  url: string
  /** By `bucket/key`, in the order in which they were stored. */
  objects: Map<string, Buffer>
  /** Every request, such as `PUT /bucket/key`. */
  requests: string[]
  /** Answers every request with this status while it is set. */
  failWith: number | undefined
  /** Stores the next object, but closes the connection without a response. */
  loseNext: boolean
  /** The number of names on a page of a list. */
  pageSize: number
  close(): Promise<void>
}

const fail = (response: ServerResponse, status: number, code: string): void => {
  const body = `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>because</Message></Error>`
  response.writeHead(status, { 'content-type': 'application/xml' }).end(body)
}

/** Whether the request is signed for S3, its host and exactly this body. */
const isSigned = (request: IncomingMessage, body: Buffer): boolean => {
  const { authorization = '', 'x-amz-content-sha256': digest, 'x-amz-date': date } = request.headers
  const signed = /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d{8}\/[\w-]+\/s3\/aws4_request, SignedHeaders=([\w;-]+), /
  const names = signed.exec(authorization)?.[1]?.split(';') ?? []
  if (!['host', 'x-amz-content-sha256', 'x-amz-date'].every((name) => names.includes(name))) return false
  if (request.method === 'PUT' && !names.includes('if-none-match')) return false
  return date !== undefined && digest === createHash('sha256').update(body).digest('hex')
}

const list = (server: S3Server, bucket: string, query: URLSearchParams): string => {
  const prefix = `${bucket}/${query.get('prefix') ?? ''}`
  const after = Buffer.from(query.get('continuation-token') ?? '', 'base64').toString()
  const keys = [...server.objects.keys()]
    .filter((name) => name.startsWith(prefix))
    .map((name) => name.slice(bucket.length + 1))
    .filter((key) => key > after)
    .sort()
  const page = keys.slice(0, server.pageSize)
  const isTruncated = keys.length > page.length
  const token = isTruncated ? Buffer.from(page.at(-1) as string).toString('base64') : ''
  return [
    '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">',
    `<Name>${bucket}</Name><KeyCount>${page.length}</KeyCount><IsTruncated>${isTruncated}</IsTruncated>`,
    ...page.map((key) => `<Contents><Key>${key}</Key><Size>1</Size></Contents>`),
    token && `<NextContinuationToken>${token}</NextContinuationToken>`,
    '</ListBucketResult>',
  ].join('')
}

const put = (server: S3Server, request: IncomingMessage, response: ServerResponse, name: string, body: Buffer) => {
  if (request.headers['if-none-match'] !== '*') return fail(response, 400, 'InvalidRequest')
  if (server.objects.has(name)) return fail(response, 412, 'PreconditionFailed')
  server.objects.set(name, body)
  if (!server.loseNext) return response.writeHead(200, { etag: '"x"' }).end()
  server.loseNext = false
  return response.destroy()
}

const answer = async (server: S3Server, request: IncomingMessage, response: ServerResponse) => {
  const body = await buffer(request)
  const { pathname, searchParams } = new URL(request.url as string, 'http://localhost')
  server.requests.push(`${request.method} ${pathname}`)
  if (server.failWith !== undefined) return fail(response, server.failWith, 'SlowDown')
  if (!isSigned(request, body)) return fail(response, 403, 'SignatureDoesNotMatch')
  const name = decodeURIComponent(pathname.slice(1))
  if (request.method === 'PUT') return put(server, request, response, name, body)
  if (request.method !== 'GET') return fail(response, 405, 'MethodNotAllowed')
  if (searchParams.get('list-type') === '2') {
    const xml = list(server, name.replace(/\/$/, ''), searchParams)
    return response.writeHead(200, { 'content-type': 'application/xml' }).end(xml)
  }
  const content = server.objects.get(name)
  return content ? response.writeHead(200).end(content) : fail(response, 404, 'NoSuchKey')
}

/** The credentials that it accepts. */
export const s3Credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret' }

export const startS3Server = async (): Promise<S3Server> => {
  const http = createServer((request, response) => {
    answer(server, request, response).catch(() => response.destroy())
  })
  const server: S3Server = {
    url: '',
    objects: new Map(),
    requests: [],
    failWith: undefined,
    loseNext: false,
    pageSize: 2,
    close: async () => {
      http.closeAllConnections()
      await new Promise((resolve) => http.close(resolve))
    },
  }
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  server.url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
  return server
}
