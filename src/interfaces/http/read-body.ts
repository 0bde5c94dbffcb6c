/** Receives the body of a request as bytes, within the size limit of its route and the limits on uploads. */
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Failure } from '../../platform/ground/errors.ts'
import { countedNetworks } from '../../platform/ground/ip-address.ts'
import { callerAddress, type ProxyTrust } from './caller-address.ts'
import { bodyTooLarge, malformed } from './envelope.ts'
import type { Upload, Uploads } from './uploads.ts'

/** Refusals that leave a part of the body unread. It is read and discarded before the response is sent. */
const leavesRest = new WeakSet<Failure>()

export const isLeftUnread = (error: unknown): boolean => error instanceof Failure && leavesRest.has(error)

const leavingRest = (failure: Failure): Failure => {
  leavesRest.add(failure)
  return failure
}

/** The rest of the body is read and discarded before the response is sent. */
export const refuseBody = (limit: number): Failure => leavingRest(bodyTooLarge(limit))

type Needs = { uploads: Uploads; proxies: ProxyTrust }

/** A parser for Fastify: resolves with the whole body. */
export type ReadBody = (request: FastifyRequest, payload: IncomingMessage) => Promise<Buffer>

export const makeReadBody =
  ({ uploads, proxies }: Needs): ReadBody =>
  (request, payload) => {
    const { bodyLimit: limit, config } = request.routeOptions
    const documented = config.documentedLimit ?? limit
    const announced = Number(request.headers['content-length'])
    if (announced > limit) return Promise.reject(refuseBody(documented))
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = []
      let length = 0
      let ended = false
      let upload: Upload | undefined
      const end = (): void => {
        ended = true
        upload?.end()
      }
      const refuse = (failure: Failure): void => {
        end()
        reject(leavingRest(failure))
      }
      const startUpload = (): Upload => {
        const user = request.who?.keyId ?? request.who?.userId
        return uploads.start(user ?? countedNetworks(callerAddress(request.raw, proxies))[0].name, refuse)
      }
      payload.on('data', (chunk: Buffer) => {
        if (ended) return
        length += chunk.length
        if (length > limit) return refuse(bodyTooLarge(documented))
        chunks.push(chunk)
        // Most bodies arrive in one piece, and then nothing of them is held while the rest is on its way.
        if (length === announced && !upload) return
        upload ??= startUpload()
        upload.add(chunk.length)
      })
      payload.on('end', () => {
        if (ended) return
        end()
        if (!Number.isNaN(announced) && length !== announced) {
          return reject(malformed('The body length does not match Content-Length.'))
        }
        resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, length))
      })
      const onClose = (): void => {
        if (ended) return
        end()
        reject(malformed('The connection closed before the whole body arrived.'))
      }
      payload.on('error', onClose).on('close', onClose)
    })
  }

/** In this scope every body is received as bytes. The handler of the route refuses types that it cannot read. */
export const acceptEveryType = (scope: FastifyInstance, readBody: ReadBody): FastifyInstance => {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', readBody)
  return scope
}
