/** Receives the body of a request as bytes, within the size limit of its route and the limits on uploads. */
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Failure } from '../ground/errors.ts'
import { countedNetworks } from '../ground/ip-address.ts'
import { callerAddress, type ProxyTrust } from './caller-address.ts'
import { bodyTooLarge, malformed } from './envelope.ts'
import type { Uploads } from './uploads.ts'

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
    const user = request.admitted?.caller.keyId ?? request.signedIn?.userId
    const caller = user ?? countedNetworks(callerAddress(request.raw, proxies))[0].name
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = []
      let length = 0
      const stop = (): void => {
        payload.off('data', onData).off('end', onEnd).off('error', onClose).off('close', onClose)
        upload.end()
      }
      const refuse = (failure: Failure): void => {
        stop()
        reject(leavingRest(failure))
      }
      const onData = (chunk: Buffer): void => {
        length += chunk.length
        if (length > limit) refuse(bodyTooLarge(documented))
        else {
          chunks.push(chunk)
          upload.add(chunk.length)
        }
      }
      const onEnd = (): void => {
        stop()
        if (Number.isNaN(announced) || length === announced) resolve(Buffer.concat(chunks, length))
        else reject(malformed('The body length does not match Content-Length.'))
      }
      const onClose = (): void => {
        stop()
        reject(malformed('The connection closed before the whole body arrived.'))
      }
      const upload = uploads.start(caller, refuse)
      payload.on('data', onData).once('end', onEnd).once('error', onClose).once('close', onClose)
    })
  }

/** In this scope every body is received as bytes. The handler of the route refuses types that it cannot read. */
export const acceptEveryType = (scope: FastifyInstance, readBody: ReadBody): FastifyInstance => {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('*', readBody)
  return scope
}
