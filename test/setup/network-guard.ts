/** Fails every test that uses the network inside a database transaction. */
import { afterAll, afterEach } from 'vitest'
import { guardNetwork, type Violation } from '../../src/platform/db/network-guard.ts'

const violations: Violation[] = []

const endGuard = guardNetwork((violation) => violations.push(violation))

// Test files share their worker, and this file runs again for each of them.
afterAll(endGuard)

/** Returns and clears the violations, for tests that break the rule on purpose. */
export const takeViolations = (): Violation[] => violations.splice(0)

afterEach(() => {
  const [first] = takeViolations()
  if (first) throw new Error(`${first.what} inside a database transaction\n${first.stack}`)
})
