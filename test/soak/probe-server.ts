/** A bare HTTP server that runs `select 1` for each request: what the machine takes for any request at this time. */
import { createServer } from 'node:http'
import pg from 'pg'

const pool = new pg.Pool({ connectionString: process.env.PROBE_DATABASE_URL, max: 2 })
// The database restarts with the service.
pool.on('error', () => undefined)

const server = createServer((_, response) => {
  pool.query('select 1').then(
    () => response.end('{}'),
    () => response.writeHead(503).end(),
  )
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.stdout.write(`${typeof address === 'object' ? address?.port : ''}\n`)
})
process.on('disconnect', () => process.exit())
