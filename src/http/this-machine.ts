import type { IncomingMessage } from 'node:http'
import { isLoopback } from '../ground/ip-address.ts'

/** A proxy on this machine connects over loopback too, but its clients are elsewhere: forwarded requests do not count. */
export const fromThisMachine = (request: IncomingMessage): boolean =>
  isLoopback(request.socket.remoteAddress) &&
  ['x-forwarded-for', 'forwarded', 'x-real-ip'].every((name) => request.headers[name] === undefined)
