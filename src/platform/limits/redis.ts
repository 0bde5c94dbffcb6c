import { createClient, defineScript } from 'redis'
import type { Log } from '../ground/log.ts'
import { makeReplaceIfReplica, redisOptions, withoutUrl } from '../ground/redis-connection.ts'
import { assertCost, type Bucket, type BucketState, type Limiter } from './limiter.ts'

/**
 * Checks and counts one call in all its buckets, atomically. A cost of 0 only reads.
 *
 * A bucket is a list, oldest entry first. There is an entry for each millisecond in which calls were counted: the
 * millisecond, and the running total at its end. The first entry is the last one that left the window, so the number
 * of calls in the window is the difference between the totals of the last and the first entry. Entries that leave are
 * found by binary search instead of one by one, so that a bucket with 60,000 old entries does not block Redis when it
 * is used again. Entries are packed doubles, which take a fifth less time than text.
 *
 * Redis expires keys by its own clock, and the clock of a process may be ahead of it. Keys therefore live for a grace
 * period beyond the window. The grace period also allows the script to renew the expiry only once a second.
 */
const takeScript = `
local call, pack, unpack = redis.call, struct.pack, struct.unpack
local at, cost, grace = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])

local function remove_until(key, until_ms)
  local function has_left(index)
    local entry = call('LINDEX', key, index)
    return entry and unpack('<dd', entry) <= until_ms
  end
  local low, high = 1, 2
  while has_left(high) do low, high = high, high * 2 end
  while high - low > 1 do
    local middle = math.floor((low + high) / 2)
    if has_left(middle) then low = middle else high = middle end
  end
  call('LTRIM', key, low, -1)
end

local times, newests, sums = {}, {}, {}
-- Lua stores a table as an array when its first element is set. Without it, the table would be a slower hash.
local answer, refused = { 0 }, 0
for i = 1, #KEYS do
  local key, limit, window = KEYS[i], tonumber(ARGV[2 + 2 * i]), tonumber(ARGV[3 + 2 * i])
  local total, oldest = 0, at
  local last = call('LINDEX', key, -1)
  if last then
    local newest, sum = unpack('<dd', last)
    if newest + window <= at then
      call('UNLINK', key)
    else
      local now = math.max(at, newest)
      local first = call('LRANGE', key, 0, 1)
      oldest = unpack('<dd', first[2])
      if oldest + window <= now then
        remove_until(key, now - window)
        first = call('LRANGE', key, 0, 1)
        oldest = unpack('<dd', first[2])
      end
      local _, left = unpack('<dd', first[1])
      total = sum - left
      times[i], newests[i], sums[i] = now, newest, sum
    end
  end
  if refused == 0 and total + cost > limit then refused = i end
  answer[2 * i] = math.max(0, limit - total)
  answer[2 * i + 1] = oldest + window
end
answer[1] = refused
if refused > 0 or cost == 0 then return answer end

for i = 1, #KEYS do
  local key, now, newest, sum = KEYS[i], times[i], newests[i], sums[i]
  if not newest then
    call('RPUSH', key, pack('<dd', 0, 0), pack('<dd', at, cost))
  elseif newest == now then
    call('LSET', key, -1, pack('<dd', now, sum + cost))
  else
    call('RPUSH', key, pack('<dd', now, sum + cost))
  end
  if not newest or math.floor(newest / 1000) < math.floor(now / 1000) then
    call('PEXPIRE', key, tonumber(ARGV[3 + 2 * i]) + grace)
  end
  answer[2 * i] = answer[2 * i] - cost
end
return answer
`

const graceMs = 10_000
const warnEveryMs = 5_000

const take = defineScript({
  SCRIPT: takeScript,
  parseCommand(parser, prefix: string, buckets: readonly Bucket[], atMs: number, cost: number) {
    parser.push(String(buckets.length))
    for (const { name } of buckets) parser.pushKey(prefix + name)
    parser.push(String(Math.floor(atMs)), String(cost), String(graceMs))
    for (const { limit, windowMs } of buckets) parser.push(String(limit), String(windowMs))
  },
  transformReply: (reply: unknown) => reply as number[],
})

const statesOf = (buckets: readonly Bucket[], reply: number[]): BucketState[] =>
  buckets.map(({ limit }, i) => ({
    limit,
    remaining: reply[2 * i + 1]!,
    resetAt: reply[2 * i + 2]!,
  }))

type RedisLimiterOptions = {
  url: string
  log: Pick<Log, 'info' | 'warn'>
  timeoutMs?: number
  /** The start of every key, so that several installations can share one Redis. */
  prefix?: string
  /** Called for each call that passes without a limit because Redis does not respond. */
  countFault?: () => void
}

/**
 * Sliding windows shared by many processes. When Redis fails in any way, a call returns null within `timeoutMs`, and
 * the service continues without limits until Redis is back. Starting waits for Redis no longer than `timeoutMs` either.
 */
export const makeRedisLimiter = async ({
  url,
  log,
  timeoutMs = 250,
  prefix = 'tidings:',
  countFault,
}: RedisLimiterOptions): Promise<Limiter> => {
  const client = withoutUrl(() => createClient({ ...redisOptions(url, timeoutMs), scripts: { take } }))
  let closed = false
  let replies = 0
  /** A command got no reply, and no other has got one since. Sending more would only delay more calls. */
  let silent = false
  let unlimited = 0
  let warned = false
  let warnedAt = Number.NEGATIVE_INFINITY
  const replaceIfReplica = makeReplaceIfReplica(client, () => closed)

  const warn = (cause: unknown): void => {
    if (closed || performance.now() - warnedAt < warnEveryMs) return
    warnedAt = performance.now()
    warned = true
    const reason = cause instanceof Error ? cause.message || cause.name : String(cause)
    log.warn({ reason, passed: unlimited }, 'rate limit store unavailable, calls are not limited')
  }

  const onReply = (): void => {
    replies += 1
    silent = false
    if (!warned) return
    warned = false
    log.info({ passed: unlimited }, 'rate limit store available again')
    unlimited = 0
  }

  const run = (buckets: readonly Bucket[], atMs: number, cost: number): Promise<number[] | null> =>
    new Promise((resolve) => {
      const allow = (cause: unknown): void => {
        unlimited += 1
        countFault?.()
        warn(cause)
        resolve(null)
      }
      if (!client.isReady) return allow('not connected')
      if (silent) return allow('no reply')
      const repliesBefore = replies
      let waiting = true
      const onTimeout = (): void => {
        if (!waiting) return
        waiting = false
        if (replies === repliesBefore) silent = true
        allow(`no reply within ${timeoutMs} ms`)
      }
      // `setImmediate` lets the event loop read the socket first. A reply that came while this process was busy counts.
      const timer = setTimeout(() => setImmediate(onTimeout), timeoutMs)
      client.take(`${prefix}limit:`, buckets, atMs, cost).then(
        (reply) => {
          waiting = false
          clearTimeout(timer)
          onReply()
          resolve(reply)
        },
        (cause) => {
          clearTimeout(timer)
          silent = false
          if (waiting) allow(cause)
          waiting = false
          replaceIfReplica(cause)
        },
      )
    })

  client.on('error', warn)
  await new Promise<void>((resolve) => {
    const timer = setTimeout(() => {
      warn(`no connection within ${timeoutMs} ms`)
      resolve()
    }, timeoutMs)
    const settled = (): void => {
      clearTimeout(timer)
      resolve()
    }
    client.once('ready', settled)
    client.once('error', settled)
    // The client keeps trying by itself. The promise rejects only when the client is closed before it has connected.
    client.connect().catch(settled)
  })

  return {
    async take(buckets, atMs, cost = 1) {
      assertCost(cost)
      if (buckets.length === 0) return { allowed: true, states: [] }
      const reply = await run(buckets, atMs, cost)
      if (reply === null) return null
      const states = statesOf(buckets, reply)
      return reply[0] === 0 ? { allowed: true, states } : { allowed: false, refusedBy: reply[0]! - 1, states }
    },

    async peek(bucket, atMs) {
      const reply = await run([bucket], atMs, 0)
      return reply === null ? null : statesOf([bucket], reply)[0]!
    },

    async close() {
      closed = true
      client.destroy()
    },
  }
}
