import { createClient, defineScript } from 'redis'
import type { Log } from '../ground/log.ts'
import { assertCost, type Bucket, type BucketState, type Limiter } from './contract.ts'

/**
 * Judges and counts one call in all its buckets, as one atomic step.
 *
 * A bucket is one list of `ms:n`, oldest first, one entry for each millisecond in which something was counted;
 * n is everything counted up to and including that millisecond. The first entry is the last one that left, so
 * the calls in the window are the difference of n between the two ends, and what leaves is found by search
 * instead of being added up: a bucket that held 60,000 entries and was then left alone does not stall Redis.
 *
 * Keys outlive the window by a grace, since Redis expires by its own clock and a process may run ahead of it.
 */
const takeScript = `
local at, cost, grace = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])

local function read(entry)
  local colon = string.find(entry, ':', 1, true)
  return tonumber(string.sub(entry, 1, colon - 1)), tonumber(string.sub(entry, colon + 1))
end

local function write(ms, n)
  return string.format('%.0f:%.0f', ms, n)
end

local function leave(key, window, now)
  local function gone(index)
    local entry = redis.call('LINDEX', key, index)
    return entry and read(entry) + window <= now
  end
  local low, high = 1, 2
  while gone(high) do low, high = high, high * 2 end
  while high - low > 1 do
    local middle = math.floor((low + high) / 2)
    if gone(middle) then low = middle else high = middle end
  end
  redis.call('LTRIM', key, low, -1)
end

local seen, refused = {}, 0
for i, key in ipairs(KEYS) do
  local limit, window = tonumber(ARGV[2 + 2 * i]), tonumber(ARGV[3 + 2 * i])
  local bucket = { limit = limit, window = window, now = at, total = 0 }
  local last = redis.call('LINDEX', key, -1)
  if last then
    local newest, n = read(last)
    if newest + window <= at then
      redis.call('UNLINK', key)
    else
      bucket.newest, bucket.n, bucket.now = newest, n, math.max(at, newest)
      local first = redis.call('LRANGE', key, 0, 1)
      bucket.oldest = read(first[2])
      if bucket.oldest + window <= bucket.now then
        leave(key, window, bucket.now)
        first = redis.call('LRANGE', key, 0, 1)
        bucket.oldest = read(first[2])
      end
      local _, left = read(first[1])
      bucket.total = n - left
    end
  end
  if refused == 0 and bucket.total + cost > limit then refused = i end
  seen[i] = bucket
end

local answer = { refused }
for i, key in ipairs(KEYS) do
  local bucket = seen[i]
  if refused == 0 and cost > 0 then
    if bucket.total == 0 then
      redis.call('RPUSH', key, '0:0', write(at, cost))
      bucket.oldest = at
    elseif bucket.newest == bucket.now then
      redis.call('LSET', key, -1, write(bucket.newest, bucket.n + cost))
    else
      redis.call('RPUSH', key, write(bucket.now, bucket.n + cost))
    end
    redis.call('PEXPIRE', key, bucket.window + grace)
    bucket.total = bucket.total + cost
  end
  answer[2 * i] = math.max(0, bucket.limit - bucket.total)
  answer[2 * i + 1] = (bucket.oldest or at) + bucket.window
end
return answer
`

const keyPrefix = 'tidings:limit:'
const graceMs = 10_000
const warnEveryMs = 5_000
/** A connection on which nothing moves for this long is given up; the pings keep a healthy one moving. */
const deadAfterMs = 5_000
const pingEveryMs = 2_000
/** Calls waiting for an answer; beyond them calls pass at once. */
const mostWaiting = 10_000

const take = defineScript({
  SCRIPT: takeScript,
  parseCommand(parser, buckets: readonly Bucket[], atMs: number, cost: number) {
    parser.push(String(buckets.length))
    for (const { name } of buckets) parser.pushKey(keyPrefix + name)
    parser.push(String(Math.floor(atMs)), String(cost), String(graceMs))
    for (const { limit, windowMs } of buckets) parser.push(String(limit), String(windowMs))
  },
  transformReply: (reply: unknown) => reply as number[],
})

const connectTo = (url: string) => {
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
      pingInterval: pingEveryMs,
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

export type RedisLimiterOptions = { url: string; log: Pick<Log, 'info' | 'warn'>; timeoutMs?: number }

/**
 * Sliding windows shared by many processes. Whatever is wrong with Redis, a call is answered null within
 * `timeoutMs` and the service goes on without limits until it is back; starting does not wait for it either.
 */
export const makeRedisLimiter = async ({
  url,
  log,
  timeoutMs = 250,
}: RedisLimiterOptions): Promise<Limiter> => {
  const client = connectTo(url)
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
      client.take(buckets, atMs, cost).then(
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
  client.on('ready', () => {
    silent = false
  })
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
      return answer[0] === 0
        ? { allowed: true, states }
        : { allowed: false, refusedBy: answer[0]! - 1, states }
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
