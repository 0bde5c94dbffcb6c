#!/usr/bin/env node
// Exits with 0 while the process on this machine responds to /healthz: `node bin/health-check.js <port>`.
const [port = '3000'] = process.argv.slice(2)
const timeoutMs = 2_000

fetch(`http://127.0.0.1:${port}/healthz`, { signal: AbortSignal.timeout(timeoutMs) }).then(
  ({ ok }) => process.exit(ok ? 0 : 1),
  () => process.exit(1),
)
