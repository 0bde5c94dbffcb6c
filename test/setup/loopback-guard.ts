/** Fails every test that opens a connection to an address outside loopback, or asks a name server there. */
import dgram from 'node:dgram'
import dns from 'node:dns'
import net from 'node:net'
import { afterAll, afterEach } from 'vitest'
import { isLoopback } from '../../src/platform/ground/ip-address.ts'

const violations: string[] = []

/** Returns and clears the violations, for the test of this guard. */
export const takeDials = (): string[] => violations.splice(0)

class OutsideLoopback extends Error {}

/** `localhost` always resolves to this machine, and so do the unspecified addresses. */
const isLocal = (host: string): boolean =>
  net.isIP(host) === 0 ? /(^|\.)localhost\.?$/i.test(host) : isLoopback(host) || host === '0.0.0.0' || host === '::'

const report = (what: string): OutsideLoopback => {
  violations.push(what)
  return new OutsideLoopback(`${what} is outside loopback`)
}

type Restore = () => void

// biome-ignore lint/suspicious/noExplicitAny: the functions of Node have many overloads
type Any = any

const replace = (target: Any, name: string, wrap: (original: Any) => Any): Restore => {
  const original = target[name]
  target[name] = wrap(original)
  return () => {
    target[name] = original
  }
}

/** Node calls the lookup function for every host that is not an address. */
const guardedLookup = (lookup: Any) => (host: string, options: Any, callback: Any) =>
  lookup(host, options, (error: unknown, found: Any, family: unknown) => {
    const addresses: string[] = error ? [] : Array.isArray(found) ? found.map(({ address }: Any) => address) : [found]
    const outside = addresses.find((address) => !isLocal(address))
    if (outside === undefined) callback(error, found, family)
    else callback(report(`a connection to ${host} (${outside})`))
  })

const guardSockets = (): Restore =>
  replace(net.Socket.prototype, 'connect', (connect) => {
    return function (this: net.Socket, ...args: Any[]) {
      // Node passes normalized arguments as an array in the first place.
      const [first, second] = Array.isArray(args[0]) ? args[0] : args
      const options =
        typeof first === 'object' ? first : { port: first, host: typeof second === 'string' ? second : undefined }
      const { path, host = 'localhost', lookup } = options ?? {}
      if (path === undefined && net.isIP(host) !== 0 && !isLocal(host)) {
        process.nextTick(() => this.destroy(report(`a connection to ${host}`)))
        return this
      }
      if (typeof first === 'object' && path === undefined && net.isIP(host) === 0) {
        first.lookup = guardedLookup(lookup ?? dns.lookup)
      }
      return connect.apply(this, args)
    }
  })

const guardDatagrams = (): Restore =>
  replace(dgram.Socket.prototype, 'send', (send) => {
    return function (this: dgram.Socket, ...args: Any[]) {
      const host = args.findLast((arg) => typeof arg === 'string')
      if (host !== undefined && args.length > 1 && !isLocal(host)) throw report(`a datagram to ${host}`)
      return send.apply(this, args)
    }
  })

/** Resolvers ask their name servers directly, without a socket of Node. */
const guardResolvers = (): Restore[] =>
  [dns.Resolver.prototype, dns.promises.Resolver.prototype].flatMap((prototype: Any) =>
    ['resolve', 'resolve4', 'resolve6', 'resolveMx', 'resolveTxt', 'resolveCname', 'resolveNs', 'reverse']
      .filter((name) => typeof prototype[name] === 'function')
      .map((name) =>
        replace(prototype, name, (original) => {
          return function (this: dns.Resolver, ...args: Any[]) {
            const outside = this.getServers().find(
              (server) => !isLocal(server.replace(/^\[?([^\]]*?)\]?(:\d+)?$/, '$1')),
            )
            if (outside !== undefined) throw report(`a query to the name server ${outside}`)
            return original.apply(this, args)
          }
        }),
      ),
  )

const restores = [guardSockets(), guardDatagrams(), ...guardResolvers()]

/** Removes the guard for the rest of the test file. For tests that look at the call stack of a connection. */
export const endLoopbackGuard = (): void => {
  for (const restore of restores.splice(0).toReversed()) restore()
}

// Test files share their worker, and this file runs again for each of them.
afterAll(endLoopbackGuard)

afterEach(() => {
  const [first] = takeDials()
  if (first) throw new OutsideLoopback(`${first} is outside loopback. Replace the dialler in this test.`)
})
