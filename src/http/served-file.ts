import { Readable } from 'node:stream'
import type { Log } from '../ground/log.ts'
import type { RouteResponse } from './route.ts'

/** The body of a response that is a file. */
export type ServedFile = { contentType: string; content: Readable | Buffer }

/** The status is sent before the content is complete, so a fault can only end the connection. */
export const serveFile = ({ contentType, content }: NonNullable<RouteResponse['file']>, log: Log): ServedFile => {
  if (Buffer.isBuffer(content)) return { contentType, content }
  const stream = Readable.from(content)
  stream.on('error', (error) => log.error({ err: error }, 'sending a file failed'))
  return { contentType, content: stream }
}
