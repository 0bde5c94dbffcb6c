/** A typical service: one route, one pool, one transaction with two statements per request. */
import { randomUUID } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import fastify from 'fastify'
import pg from 'pg'
import { serveBench } from './serve.ts'

const tables = `
  create table bench_plain_rows (
    id uuid primary key, org_id text not null, value text not null, created_at timestamptz not null);
  create table bench_plain_counters (
    org_id text not null, period text not null, used bigint not null, primary key (org_id, period))`

const insertRow = {
  name: 'insert_row',
  text: 'insert into bench_plain_rows (id, org_id, value, created_at) values ($1, $2, $3, $4)',
}

const countUse = {
  name: 'count_use',
  text: `insert into bench_plain_counters (org_id, period, used) values ($1, $2, 1)
    on conflict (org_id, period) do update set used = bench_plain_counters.used + 1`,
}

serveBench(async ({ databaseUrl }: { databaseUrl: string }) => {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 20 })
  await pool.query(tables)

  const record = async (id: string, org: string, value: string, at: Date) => {
    const client = await pool.connect()
    try {
      await client.query('begin')
      await client.query({ ...insertRow, values: [id, org, value, at] })
      await client.query({ ...countUse, values: [org, at.toISOString().slice(0, 7)] })
      await client.query('commit')
    } catch (error) {
      await client.query('rollback')
      throw error
    } finally {
      client.release()
    }
  }

  const app = fastify()
  app.post<{ Body: { channel: string; value: string } }>('/rows', async (request, reply) => {
    const { channel, value } = request.body
    const [id, org, at] = [randomUUID(), 'org_bench', new Date()]
    await record(id, org, value, at)
    return reply.code(201).send({ id, org_id: org, channel, value, reason: 'manual', created_at: at })
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  return {
    ready: { port: (app.server.address() as AddressInfo).port },
    close: async () => {
      await app.close()
      await pool.end()
    },
  }
})
