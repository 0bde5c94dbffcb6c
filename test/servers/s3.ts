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
  /** Unfinished uploads by their ids. */
  uploads: Map<string, { name: string; parts: Buffer[] }>
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
  const isPart = request.url?.includes('uploadId=')
  if (request.method === 'PUT' && !isPart && !names.includes('if-none-match')) return false
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

const xml = (response: ServerResponse, body: string): void => {
  response.writeHead(200, { 'content-type': 'application/xml' }).end(`<?xml version="1.0" encoding="UTF-8"?>${body}`)
}

/** Uploads in parts. Returns false for any other request. */
const takePart = (server: S3Server, request: IncomingMessage, response: ServerResponse, body: Buffer): boolean => {
  const { pathname, searchParams } = new URL(request.url as string, 'http://localhost')
  const name = decodeURIComponent(pathname.slice(1))
  const id = searchParams.get('uploadId')
  if (searchParams.has('uploads')) {
    if (request.method === 'POST') {
      const uploadId = `upload-${server.uploads.size + 1}`
      server.uploads.set(uploadId, { name, parts: [] })
      xml(response, `<InitiateMultipartUploadResult><UploadId>${uploadId}</UploadId></InitiateMultipartUploadResult>`)
      return true
    }
    const found = [...server.uploads].map(
      ([uploadId, upload]) =>
        `<Upload><Key>${upload.name.slice(upload.name.indexOf('/') + 1)}</Key><UploadId>${uploadId}</UploadId><Initiated>2020-01-01T00:00:00.000Z</Initiated></Upload>`,
    )
    xml(response, `<ListMultipartUploadsResult>${found.join('')}</ListMultipartUploadsResult>`)
    return true
  }
  if (id === null) return false
  const upload = server.uploads.get(id)
  if (!upload) fail(response, 404, 'NoSuchUpload')
  else if (request.method === 'PUT') {
    upload.parts[Number(searchParams.get('partNumber')) - 1] = body
    response.writeHead(200, { etag: `"part"` }).end()
  } else if (request.method === 'DELETE') {
    server.uploads.delete(id)
    response.writeHead(204).end()
  } else if (server.objects.has(upload.name)) fail(response, 412, 'PreconditionFailed')
  else {
    server.objects.set(upload.name, Buffer.concat(upload.parts))
    server.uploads.delete(id)
    xml(response, '<CompleteMultipartUploadResult><ETag>"x"</ETag></CompleteMultipartUploadResult>')
  }
  return true
}

const sendPart = (request: IncomingMessage, response: ServerResponse, content: Buffer): void => {
  const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? []
  const part = from === undefined ? content : content.subarray(Number(from), Number(to) + 1)
  response.writeHead(from === undefined ? 200 : 206, { 'content-length': part.length })
  response.end(request.method === 'HEAD' ? undefined : part)
}

const answer = async (server: S3Server, request: IncomingMessage, response: ServerResponse) => {
  const body = await buffer(request)
  const { pathname, searchParams } = new URL(request.url as string, 'http://localhost')
  server.requests.push(`${request.method} ${pathname}`)
  if (server.failWith !== undefined) return fail(response, server.failWith, 'SlowDown')
  if (!isSigned(request, body)) return fail(response, 403, 'SignatureDoesNotMatch')
  const name = decodeURIComponent(pathname.slice(1))
  if (takePart(server, request, response, body)) return
  if (request.method === 'DELETE') {
    server.objects.delete(name)
    return response.writeHead(204).end()
  }
  if (request.method === 'PUT') return put(server, request, response, name, body)
  if (!['GET', 'HEAD'].includes(request.method as string)) return fail(response, 405, 'MethodNotAllowed')
  if (searchParams.get('list-type') === '2') {
    const found = list(server, name.replace(/\/$/, ''), searchParams)
    return response.writeHead(200, { 'content-type': 'application/xml' }).end(found)
  }
  const content = server.objects.get(name)
  if (content) return sendPart(request, response, content)
  return request.method === 'HEAD' ? response.writeHead(404).end() : fail(response, 404, 'NoSuchKey')
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
    uploads: new Map(),
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
