import { createClient, defineScript } from 'redis'
import type { Log } from '../ground/log.ts'
import { assertCost, type Bucket, type BucketState, type Limiter } from './limiter.ts'

/**
 * Judges and counts one call in all its buckets, as one atomic step. A cost of 0 only reads.
 *
 * A bucket is one list, oldest first, with an entry for each millisecond in which something was counted: that
 * millisecond, and everything counted up to its end. The first entry is the last one that left the window, so
 * the calls in the window are the difference between the two ends, and what leaves is found by search instead
 * of being added up: a bucket left alone with 60,000 entries in it does not stall Redis when it is used again.
 * Entries are packed doubles, which took a fifth off the time of text.
 *
 * Redis expires keys by its own clock, ahead of which a process may run: hence a grace beyond the window, and
 * room in it to renew the expiry only once a second.
 */
const takeScript = `
local call, pack, unpack = redis.call, struct.pack, struct.unpack
local at, cost, grace = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])

local function let_go(key, until_ms)
  local function gone(index)
    local entry = call('LINDEX', key, index)
    return entry and unpack('<dd', entry) <= until_ms
  end
  local low, high = 1, 2
  while gone(high) do low, high = high, high * 2 end
  while high - low > 1 do
    local middle = math.floor((low + high) / 2)
    if gone(middle) then low = middle else high = middle end
  end
  call('LTRIM', key, low, -1)
end

local times, newests, sums = {}, {}, {}
-- With its first place filled Lua keeps the answer an array; filled from the second on it is a slower hash.
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
        let_go(key, now - window)
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
/** Calls waiting for an answer; beyond them calls pass at once. */
const mostWaiting = 10_000

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

const connectTo = (url: string, timeoutMs: number) => {
  // A connection on which nothing moves for this long is given up; the pings keep a healthy one moving.
  const deadAfterMs = 20 * timeoutMs
  try {
    return createClient({
      url,
      scripts: { take },
      // A call that cannot be asked now passes now; kept for later it would count at a time long gone.
      disableOfflineQueue: true,
      commandsQueueMaxLength: mostWaiting,
      // Its own timeout ends once a command is written, so it does not see a server that falls silent.
      commandOptions: { timeout: undefined },
      maintNotifications: 'disabled',
      pingInterval: 8 * timeoutMs,
      socket: {
        connectTimeout: deadAfterMs,
        socketTimeout: deadAfterMs,
        reconnectStrategy: (retries) => Math.min(50 * 2 ** retries, 1_000) + Math.random() * 100,
      },
    })
  } catch {
    // The cause quotes the address, which may hold a password.
    throw new Error('the Redis address is not a valid redis:// or rediss:// URL')
  }
}

const statesOf = (buckets: readonly Bucket[], answer: number[]): BucketState[] =>
  buckets.map(({ limit }, i) => ({
    limit,
    remaining: answer[2 * i + 1]!,
    resetAt: answer[2 * i + 2]!,
  }))

export type RedisLimiterOptions = {
  url: string
  log: Pick<Log, 'info' | 'warn'>
  timeoutMs?: number
  /** Stands before every key, so that several installations can share one Redis. */
  prefix?: string
}

/**
 * Sliding windows shared by many processes. Whatever is wrong with Redis, a call is answered null within
 * `timeoutMs` and the service goes on without limits until it is back; starting does not wait for it either.
 */
export const makeRedisLimiter = async ({
  url,
  log,
  timeoutMs = 250,
  prefix = 'tidings:',
}: RedisLimiterOptions): Promise<Limiter> => {
  const client = connectTo(url, timeoutMs)
  let closed = false
  let answers = 0
  /** A question went unanswered and nothing else was answered since: asking more would only delay more calls. */
  let silent = false
  let passed = 0
  let warned = false
  let warnedAt = Number.NEGATIVE_INFINITY

  const warn = (cause: unknown): void => {
    if (closed || performance.now() - warnedAt < warnEveryMs) return
    warnedAt = performance.now()
    warned = true
    const reason = cause instanceof Error ? cause.message || cause.name : String(cause)
    log.warn({ reason, passed }, 'the limiter store does not answer: calls pass without limits')
  }

  const answered = (): void => {
    answers += 1
    silent = false
    if (!warned) return
    warned = false
    log.info({ passed }, 'the limiter store answers again')
    passed = 0
  }

  const ask = (buckets: readonly Bucket[], atMs: number, cost: number): Promise<number[] | null> =>
    new Promise((resolve) => {
      const pass = (cause: unknown): void => {
        passed += 1
        warn(cause)
        resolve(null)
      }
      if (!client.isReady) return pass('not connected')
      if (silent) return pass('no answer')
      const before = answers
      let waiting = true
      const giveUp = (): void => {
        if (!waiting) return
        waiting = false
        if (answers === before) silent = true
        pass(`no answer within ${timeoutMs} ms`)
      }
      // Through one turn of the event loop: when this process was the slow one, the answer is already here.
      const timer = setTimeout(() => setImmediate(giveUp), timeoutMs)
      client.take(`${prefix}limit:`, buckets, atMs, cost).then(
        (answer) => {
          waiting = false
          clearTimeout(timer)
          answered()
          resolve(answer)
        },
        (cause) => {
          clearTimeout(timer)
          silent = false
          if (waiting) pass(cause)
          waiting = false
        },
      )
    })

  client.on('error', warn)
  await new Promise<void>((resolve) => {
    const timer = setTimeout(() => {
      warn(`no connection within ${timeoutMs} ms`)
      resolve()
    }, timeoutMs)
    const heard = (): void => {
      clearTimeout(timer)
      resolve()
    }
    client.once('ready', heard)
    client.once('error', heard)
    // It goes on trying by itself and rejects only when closed before it ever got through.
    client.connect().catch(heard)
  })

  return {
    async take(buckets, atMs, cost = 1) {
      assertCost(cost)
      if (buckets.length === 0) return { allowed: true, states: [] }
      const answer = await ask(buckets, atMs, cost)
      if (answer === null) return null
      const states = statesOf(buckets, answer)
      return answer[0] === 0 ? { allowed: true, states } : { allowed: false, refusedBy: answer[0]! - 1, states }
    },

    async peek(bucket, atMs) {
      const answer = await ask([bucket], atMs, 0)
      return answer === null ? null : statesOf([bucket], answer)[0]!
    },

    async close() {
      closed = true
      client.destroy()
    },
  }
}
