import { Readable } from 'node:stream'
import type { Log } from '../../platform/ground/log.ts'
import type { FileBody } from './route.ts'

export type ServedFile = { contentType: string; content: Readable | Buffer }

/** The status is sent by then, so a fault can only end the connection. */
export const servedFile = ({ contentType, content }: FileBody, log: Log): ServedFile => {
  if (Buffer.isBuffer(content)) return { contentType, content }
  const stream = content instanceof Readable ? content : Readable.from(content)
  stream.on('error', (error) => log.error({ err: error }, 'sending a file failed'))
  return { contentType, content: stream }
}
