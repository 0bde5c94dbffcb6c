/**
 * How the service runs under Node: readable stacks, and a young generation kept small. Left to itself it grows with the
 * load and doubles the resident memory, for a few percent of throughput.
 */
export const serviceFlags = ['--enable-source-maps', '--max-semi-space-size=8']
