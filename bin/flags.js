/**
 * How the service runs under Node: readable stacks, a young generation with room for the requests under way, and every
 * object born in it. V8 else learns under load to put some objects of a request straight among the old ones, from where
 * they keep alive whatever they name: see docs/decisions/0017.
 */
export const serviceFlags = ['--enable-source-maps', '--max-semi-space-size=32', '--no-allocation-site-pretenuring']
